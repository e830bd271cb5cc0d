import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startFiles } from '../../../../src/drive/control/protection.ts';
import { postToolUse, preToolUse } from '../../../../src/drive/hook/tool-use.ts';
import { readContract } from '../../../../src/state/loop-files.ts';
import { readSnapshot } from '../../../../src/state/snapshot/snapshot.ts';
import type { Project } from '../../../support/drive/drive-project.ts';
import { aHook, aProject, aStop, put, rewrite, start, stateOf } from '../../../support/drive/drive-project.ts';
import { aProtectedLoop, call, noticesIn } from '../../../support/snapshot/guarded-project.ts';
import '../../../support/starts-processes.ts';

const BUSY = fileURLToPath(new URL('../../../support/snapshot/busy-home.mjs', import.meta.url));

const homeOf = ({ directory }: Project): string => dirname(directory);
const textOf = (path: string): string | null => (existsSync(path) ? readFileSync(path, 'utf8') : null);

/** Files of the user: settings of client and loop, start files of shells and tools, and some that a task protects. */
const HOME_FILES = [
  ...['.claude/settings.json', '.claude/settings.local.json', '.config/ralph-loop/config.json', '.gitconfig'],
  ...['.bashrc', '.profile', '.zshrc', '.npmrc', '.ssh/config', '.config/git/config', '.config/fish/config.fish'],
  ...Array.from({ length: 19 }, (_, nth) => `notes/file-${nth}.md`),
];

const TASK = `---
guardrails:
  protected_files: ['tests/**', '~/notes/**']
commands:
  - { name: slow, run: "sleep 0.1" }
breaker: { same_reply: 0, same_error: 0 }
validation:
  - "sleep 0.2 && test -f done.txt"
---

{{ commands.slow }} Do the work.
`;

/** Runs `work` while another process changes the home folder; returns what that process found at its end. */
async function besideAUser(t: TestContext, home: string, names: readonly string[], work: () => Promise<void>) {
  const user = spawn(process.execPath, [BUSY, home, ...names], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => user.kill('SIGKILL'));
  const lines = createInterface({ input: user.stdout })[Symbol.asyncIterator]();
  await lines.next();
  await work();
  const ended = once(user, 'exit');
  user.kill('SIGTERM');
  const found = JSON.parse(String((await lines.next()).value)) as { readonly changes: number; readonly lost: string[] };
  await ended;
  return found;
}

test('files of the home folder stay as a user left them at every moment of calls and checks', async (t) => {
  const project = aProtectedLoop(t, TASK);
  const home = homeOf(project);
  assert.equal(HOME_FILES.length, 30);
  const { changes, lost } = await besideAUser(t, home, HOME_FILES, async () => {
    for (let nth = 0; nth < 8; nth += 1) {
      await call(project, () => {
        spawnSync('sleep', ['0.05']);
        // Each restore counts as a denial, and several in a row would open the circuit breaker.
        if (nth % 4 === 1) put(join(project.directory, 'tests/file-0.ts'), `spoiled ${nth}\n`);
      });
      assert.equal(textOf(join(project.directory, 'tests/file-0.ts')), 'test 0\n', 'control: the loop restores');
      const claim = nth % 2 === 0 ? {} : { last_assistant_message: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS' };
      await aStop(project, { prompt_id: `p${nth}`, ...claim });
    }
    assert.equal(stateOf(project).status, 'running');
  });
  assert.deepEqual(lost, []);
  assert.ok(noticesIn(project).filter(({ kind }) => kind === 'restore').length >= 2);
  assert.ok(changes > 300, String(changes));
  const replaced = join(project.files.archiveDir, 'replaced');
  const moved = readdirSync(replaced, { recursive: true, encoding: 'utf8' }).filter((path) => path.includes('outside'));
  assert.deepEqual(moved, [], 'nothing of the user was moved');
});

test('control: the same user is noticed by a loop that restores these files', async (t) => {
  const project = aProtectedLoop(t, TASK);
  const names = ['tests/file-0.ts', 'tests/file-5.ts'];
  const { lost } = await besideAUser(t, project.directory, names, async () => {
    for (let nth = 0; nth < 4; nth += 1) await call(project, () => void spawnSync('sleep', ['0.1']));
  });
  assert.notDeepEqual(lost, []);
});

test('a changed file outside the project is named once, to the user only, and asks for no consent', async (t) => {
  const project = aProject(t);
  const settings = join(homeOf(project), '.claude', 'settings.json');
  start(project, true);
  rewrite(project, { sessionId: 'session-1' });
  await call(project, () => undefined);
  const installed = JSON.stringify({ enabledPlugins: { 'a@b': true } });
  const { after } = await call(project, () => put(settings, installed));
  assert.match(
    after?.systemMessage ?? '',
    /\.claude\/settings\.json \(new\): found changed after Bash\. It is outside the project, where ralph-loop writes nothing\./,
  );
  assert.equal(after?.hookSpecificOutput, undefined, 'an agent that was told might undo it');
  assert.equal(textOf(settings), installed);
  assert.equal((await call(project, () => undefined)).after, null, 'once');
  assert.deepEqual(
    noticesIn(project).map(({ kind }) => kind),
    ['change'],
  );
  const snapshot = readSnapshot(project.files, readContract(project.files)?.contract ?? { loopId: '', evidence: {} });
  assert.deepEqual(snapshot?.left, []);
});

test('the contents of start files are not copied, and a link to one is followed', async (t) => {
  const project = aProject(t);
  const home = homeOf(project);
  put(join(home, 'dotfiles', 'npmrc'), '//registry/:_authToken=topsecret\n');
  symlinkSync(join(home, 'dotfiles', 'npmrc'), join(home, '.npmrc'));
  put(join(home, '.netrc'), 'machine a password hunter22\n');
  start(project, true);
  rewrite(project, { sessionId: 'session-1' });
  const copied = readdirSync(project.files.outsideDir)
    .map((name) => textOf(join(project.files.outsideDir, name)))
    .join();
  assert.doesNotMatch(copied, /topsecret|hunter22/);
  await call(project, () => undefined);
  const { after } = await call(project, () => put(join(home, 'dotfiles', 'npmrc'), 'changed\n'));
  assert.match(after?.systemMessage ?? '', /dotfiles\/npmrc \(changed\): found changed after Bash/);
});

test('start files of a home folder that is the project are not restored unless the user protects them', async (t) => {
  const project = aProject(t);
  const home = { ...project, env: { ...project.env, HOME: project.directory } };
  const [bashrc, settings] = ['.bashrc', '.claude/settings.json'].map((name) => join(project.directory, name)) as [
    string,
    string,
  ];
  put(bashrc, 'before\n');
  put(settings, '{}');
  assert.ok(startFiles(home.env).includes(bashrc));
  start(home, true);
  rewrite(home, { sessionId: 'session-1' });
  await call(home, () => undefined);
  await call(home, () => {
    put(bashrc, 'after\n');
    put(settings, '{"disableAllHooks":true}');
    put(join(project.directory, '.claude/ralph/config.json'), '{}');
  });
  assert.deepEqual([textOf(bashrc), textOf(settings)], ['after\n', '{"disableAllHooks":true}']);
  assert.equal(textOf(join(project.directory, '.claude/ralph/config.json')), null, "control: the loop's own file");
});

const spoil = ({ directory }: Project): string => {
  const path = join(directory, 'tests', 'file-0.ts');
  put(path, 'by hand\n');
  return path;
};

test('a protected file that changes while only other kinds of calls run is the user’s', async (t) => {
  const kinds: readonly (readonly [tool: string, input: object])[] = [
    ['Agent', { prompt: 'look', description: 'look' }],
    ['Write', { file_path: 'src/work.ts', content: 'x' }],
    ['Edit', { file_path: 'src/work.ts', old_string: 'a', new_string: 'b' }],
    ['TodoWrite', { todos: [] }],
    ['WebSearch', { query: 'x' }],
  ];
  for (const [tool, input] of kinds) {
    const project = aProtectedLoop(t);
    const { after } = await call(project, () => void spoil(project), { tool, input });
    assert.equal(textOf(join(project.directory, 'tests/file-0.ts')), 'by hand\n', tool);
    assert.match(after?.systemMessage ?? '', /file-0\.ts \(changed\): no call of the agent made this change/, tool);
  }
  for (const [tool, input] of [
    ['Bash', { command: 'node job.mjs' }],
    ['mcp__files__apply', { patch: 'x' }],
    ['Skill', { skill: 'format' }],
    ['Edit', { file_path: 'tests/file-0.ts', old_string: 'a', new_string: 'b' }],
  ] as const) {
    const project = aProtectedLoop(t);
    const payload = { tool_name: tool, tool_input: input, tool_use_id: 'one', cwd: project.directory };
    await preToolUse(aHook(project, 'PreToolUse', { ...payload, tool_input: { command: 'true' }, tool_name: 'Read' }));
    spoil(project);
    await postToolUse(aHook(project, 'PostToolUse', payload));
    assert.equal(textOf(join(project.directory, 'tests/file-0.ts')), 'test 0\n', `control: ${tool}`);
  }
});

test('a call that only read and never returned does not make a later change the agent’s', async (t) => {
  const project = aProtectedLoop(t);
  const asked = (id: string, tool: string, input: object) =>
    preToolUse(
      aHook(project, 'PreToolUse', { tool_name: tool, tool_input: input, tool_use_id: id, cwd: project.directory }),
    );
  await asked('denied', 'WebFetch', { url: 'https://a.example' });
  const path = spoil(project);
  await call(project, () => undefined);
  assert.equal(textOf(path), 'by hand\n');
  await asked('denied too', 'Bash', { command: 'make' });
  put(path, 'by hand again\n');
  await call(project, () => undefined);
  assert.equal(textOf(path), 'by hand\n', 'control: a shell that never returned');
});

test('a restore that was begun for a file outside writes nothing outside the project', async (t) => {
  const project = aProtectedLoop(t);
  const bashrc = join(homeOf(project), '.bashrc');
  put(bashrc, "the user's\n");
  const { loopId } = stateOf(project);
  const changes = [
    { path: bashrc, was: 'new' },
    { path: join(project.directory, 'tests/file-0.ts'), was: 'changed' },
  ];
  const cause = { found: { when: 'turn' }, iteration: 0 };
  const archive = join(project.files.archiveDir, 'replaced', 'former');
  mkdirSync(dirname(archive), { recursive: true });
  put(join(project.directory, 'tests/file-0.ts'), 'spoiled\n');
  put(
    `${project.files.snapshot}.restoring`,
    JSON.stringify({ loopId, id: '2026-02-28T10:00:01Z', changes, archive, cause }),
  );
  await call(project, () => undefined);
  assert.equal(textOf(bashrc), "the user's\n");
  assert.equal(textOf(join(project.directory, 'tests/file-0.ts')), 'test 0\n', 'control');
  rmSync(bashrc);
});
