import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { postToolUse, preToolUse } from '../../../../src/drive/hook/tool-use.ts';
import { userPromptSubmit } from '../../../../src/drive/hook/user-prompt-submit.ts';
import { acceptContract, changedContract } from '../../../../src/drive/start/live/accept-contract.ts';
import { readLines } from '../../../../src/state/files/journal-lines.ts';
import type { Project } from '../../../support/drive/drive-project.ts';
import { aHook, aProject, aStop, PERSON, put, rewrite, start, stateOf } from '../../../support/drive/drive-project.ts';
import { callsOf } from '../../../support/journal.ts';
import { aProtectedLoop, call, noticesIn } from '../../../support/snapshot/guarded-project.ts';
import '../../../support/starts-processes.ts';

const inTests = ({ directory }: Project, name: string): string => join(directory, 'tests', name);
const textOf = (path: string): string => readFileSync(path, 'utf8');
const SPOILED = 'spoiled\n';

function archived({ files }: Project, name: string): string[] {
  const folder = join(files.archiveDir, 'replaced');
  if (!existsSync(folder)) return [];
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith(name));
  return found.map((path) => textOf(join(folder, path)));
}

const asked = (project: Project, id: string, input: object, tool = 'Bash') =>
  aHook(project, 'PreToolUse', { tool_name: tool, tool_input: input, tool_use_id: id, cwd: project.directory });
const ended = (project: Project, id: string, input: object, more: object = {}, tool = 'Bash') =>
  aHook(project, 'PostToolUse', {
    tool_name: tool,
    tool_input: input,
    tool_use_id: id,
    cwd: project.directory,
    ...more,
  });

test('reports to agent and user what was restored, and keeps the replaced version', async (t) => {
  const project = aProtectedLoop(t);
  const { after } = await call(project, () => {
    put(inTests(project, 'file-0.ts'), SPOILED);
    rmSync(inTests(project, 'file-5.ts'));
    put(inTests(project, 'fresh.ts'), 'fresh\n');
  });
  assert.match(
    after?.hookSpecificOutput?.additionalContext ?? '',
    /^\[restored by guardrail: protected_files\] This call changed .*: tests\/file-0\.ts \(changed\), tests\/file-5\.ts \(deleted\), tests\/fresh\.ts \(new\)\. They were restored\./,
  );
  assert.match(
    after?.systemMessage ?? '',
    /^ralph-loop: tests\/file-0\.ts \(changed\).* restored after Bash\. The replaced versions are in \.claude\/context\/runtime\/ralph-archive\/replaced\//,
  );
  assert.equal(textOf(inTests(project, 'file-0.ts')), 'test 0\n');
  assert.equal(statSync(inTests(project, 'file-0.ts')).mode & 0o777, 0o755);
  assert.equal(textOf(inTests(project, 'file-5.ts')), 'test 5\n'.repeat(6));
  assert.equal(existsSync(inTests(project, 'fresh.ts')), false);
  assert.deepEqual(archived(project, 'file-0.ts'), [SPOILED]);
  assert.deepEqual(archived(project, 'fresh.ts'), ['fresh\n']);
  const calls = callsOf(readLines(project.files.events).entries);
  assert.deepEqual(
    calls.slice(-2).map(({ phase }) => phase),
    ['denied', 'done'],
  );
  assert.equal(calls.at(-1)?.['callId'], calls.at(-2)?.['callId']);
  const [notice] = noticesIn(project);
  assert.match(notice?.text ?? '', /^tests\/file-0\.ts \(changed\), .*: restored after Bash\./);
  assert.match(textOf(project.files.events), /"type":"notice\.restore"/);
});

test('a change between two calls is the user’s: it is kept, reported and becomes the version to restore', async (t) => {
  const project = aProtectedLoop(t);
  await call(project, () => undefined);
  put(inTests(project, 'file-0.ts'), 'by hand\n');
  const { before, after } = await call(project, () => undefined);
  assert.match(
    before?.systemMessage ?? '',
    /tests\/file-0\.ts \(changed\): no call of the agent made this change, so it was kept\. Adopt it: .* accept/,
  );
  assert.equal(before?.hookSpecificOutput, undefined);
  assert.equal(after, null);
  assert.equal(textOf(inTests(project, 'file-0.ts')), 'by hand\n');
  await call(project, () => put(inTests(project, 'file-0.ts'), SPOILED));
  assert.equal(textOf(inTests(project, 'file-0.ts')), 'by hand\n');
});

test('restores a change made while another call or background work runs', async (t) => {
  const project = aProtectedLoop(t);
  const path = inTests(project, 'file-0.ts');
  await preToolUse(asked(project, 'long', { command: 'sleep 5' }));
  put(path, SPOILED);
  await preToolUse(asked(project, 'short', { command: 'true' }));
  assert.equal(textOf(path), 'test 0\n', 'another call');
  for (const id of ['short', 'long']) await postToolUse(ended(project, id, { command: 'true' }));

  await preToolUse(asked(project, 'server', { command: 'node server', run_in_background: true }));
  await postToolUse(ended(project, 'server', { command: 'node server', run_in_background: true }));
  put(path, SPOILED);
  await preToolUse(asked(project, 'next', { command: 'true' }));
  assert.equal(textOf(path), 'test 0\n', 'background work');
});

test('background work that the client moved there, and its end, count as the agent’s', async (t) => {
  const project = aProtectedLoop(t);
  const path = inTests(project, 'file-0.ts');
  await preToolUse(asked(project, 'slow', { command: 'npm test' }));
  await postToolUse(ended(project, 'slow', { command: 'npm test' }, { tool_response: { backgroundTaskId: 'b1' } }));
  put(path, SPOILED);
  const prompt = '<task-notification>\n<task-id>b1</task-id>\n</task-notification>';
  const answer = await userPromptSubmit(aHook(project, 'UserPromptSubmit', { prompt, prompt_id: 'p9' }));
  assert.match(answer?.systemMessage ?? '', /restored after background work/);
  assert.match(answer?.hookSpecificOutput?.additionalContext ?? '', /tests\/file-0\.ts/);
  assert.equal(textOf(path), 'test 0\n');
});

test('a change at the end of the turn is the user’s if nothing ran, and the agent’s after background work', async (t) => {
  const project = aProtectedLoop(t);
  const path = inTests(project, 'file-0.ts');
  await call(project, () => undefined);
  put(path, 'by hand\n');
  const first = await aStop(project, { prompt_id: 'p1' });
  assert.match(first?.systemMessage ?? '', /tests\/file-0\.ts \(changed\): no call of the agent made this change/);
  assert.equal(textOf(path), 'by hand\n');
  await preToolUse(asked(project, 'server', { command: 'node server', run_in_background: true }));
  await postToolUse(ended(project, 'server', { command: 'node server', run_in_background: true }));
  put(path, SPOILED);
  const second = await aStop(project, { prompt_id: 'p2', last_assistant_message: 'More work.' });
  assert.match(second?.systemMessage ?? '', /restored at the end of the turn/);
  assert.match(JSON.stringify(second), /tests\/file-0\.ts/);
  assert.equal(textOf(path), 'by hand\n');
});

test('does not look after readers, and a look without a change does nothing', async (t) => {
  const project = aProtectedLoop(t);
  const path = inTests(project, 'file-0.ts');
  await call(project, () => put(path, SPOILED), { tool: 'Read', input: { file_path: 'src/work.ts' } });
  assert.equal(textOf(path), SPOILED);
  assert.deepEqual(noticesIn(project), []);
});

test('leaves caches of tools below a protected folder alone', async (t) => {
  const project = aProtectedLoop(t);
  const { after } = await call(project, () => {
    put(inTests(project, '__pycache__/a.pyc'), 'x');
    put(join(project.directory, 'venv', 'pyvenv.cfg'), 'home = /usr\n');
    put(join(project.directory, 'venv', 'lib', 'a.lock'), 'x');
    put(join(project.directory, 'vendor', 'b.lock'), 'x');
  });
  assert.equal(after, null);
  const { after: own } = await call(project, () => put(join(project.directory, 'lib', 'c.lock'), 'x'));
  assert.match(own?.systemMessage ?? '', /lib\/c\.lock \(new\)/, 'control');
});

const HOOKS = JSON.stringify({ hooks: { Stop: [] } });

test('restores client settings, hooks and configuration, but not permissions that a person grants', async (t) => {
  const project = aProject(t);
  const claude = join(project.directory, '.claude');
  const [settings, local, hook] = [
    join(claude, 'settings.json'),
    join(claude, 'settings.local.json'),
    join(claude, 'hooks', 'ralph-stop-hook.cjs'),
  ];
  put(settings, HOOKS);
  put(hook, 'hook\n');
  start(project, true);
  rewrite(project, { sessionId: 'session-1' });
  await call(project, () => {
    put(settings, JSON.stringify({ disableAllHooks: true }));
    put(local, JSON.stringify({ disableAllHooks: true }));
    put(join(claude, 'ralph', 'config.json'), '{"agent":"sh -c true"}');
    rmSync(hook);
  });
  assert.deepEqual([textOf(settings), existsSync(local), textOf(hook)], [HOOKS, false, 'hook\n']);
  assert.equal(existsSync(join(claude, 'ralph', 'config.json')), false);
  const granted = JSON.stringify({ permissions: { allow: ['Bash(ls)'] } });
  const { after } = await call(project, () => put(local, granted));
  assert.deepEqual([after, textOf(local)], [null, granted]);
  await call(project, () => put(local, JSON.stringify({ permissions: {}, env: { PATH: '.' } })));
  assert.equal(textOf(local), granted);
});

test('reports files beyond the bounds at the start, and again when they change', async (t) => {
  const project = aProject(t, '---\nguardrails:\n  protected_files: ["big/**"]\n---\n\nWork.\n');
  mkdirSync(join(project.directory, 'big'));
  for (const name of ['a', 'b']) {
    put(join(project.directory, 'big', name), '');
    truncateSync(join(project.directory, 'big', name), 40 * 1024 * 1024);
  }
  const { warnings } = start(project, true);
  assert.match(
    warnings.map(({ message }) => message).join(),
    /One protected file is beyond the 5,000 files and 64 MiB/,
  );
  rewrite(project, { sessionId: 'session-1' });
  const { after } = await call(project, () => {
    put(join(project.directory, 'big', 'a'), SPOILED);
    put(join(project.directory, 'big', 'b'), SPOILED);
  });
  assert.equal(statSync(join(project.directory, 'big', 'a')).size, 40 * 1024 * 1024);
  assert.equal(textOf(join(project.directory, 'big', 'b')), SPOILED);
  assert.match(after?.hookSpecificOutput?.additionalContext ?? '', /big\/b \(changed\)\. Undo these changes/);
  assert.deepEqual(
    noticesIn(project).map(({ kind }) => kind),
    ['restore', 'change'],
  );
});

test('accept names the files that the user has changed and restores the new version from then on', async (t) => {
  const project = aProtectedLoop(t);
  await call(project, () => undefined);
  put(inTests(project, 'file-0.ts'), 'by hand\n');
  put(inTests(project, 'fresh.ts'), 'by hand\n');
  await call(project, () => undefined);
  const changed = changedContract(project.files, project.env);
  assert.deepEqual(changed.changes, ['protected file tests/file-0.ts: changed', 'protected file tests/fresh.ts: new']);
  acceptContract(project.files, project.env, '2026-02-28T11:00:00Z', changed, PERSON);
  assert.deepEqual(changedContract(project.files, project.env).changes, []);
});

test('restores what the task’s own commands change; a change before them is the user’s', async (t) => {
  const project = aProject(
    t,
    `---
commands:
  - { name: spoil, run: "echo spoiled > tests/a.ts" }
guardrails:
  protected_files: ["tests/**"]
---

{{ commands.spoil }} Work.
`,
  );
  put(inTests(project, 'a.ts'), 'a\n');
  put(inTests(project, 'b.ts'), 'b\n');
  start(project, true);
  rewrite(project, { sessionId: 'session-1' });
  await call(project, () => undefined);
  put(inTests(project, 'b.ts'), 'by hand\n');
  const answer = await aStop(project);
  assert.match(answer?.systemMessage ?? '', /tests\/a\.ts \(changed\): restored after the checks/);
  assert.deepEqual([textOf(inTests(project, 'a.ts')), textOf(inTests(project, 'b.ts'))], ['a\n', 'by hand\n']);
});

/** After every call of the agent so far. */
const later = (): string => new Date(Date.now() + 1000).toISOString();

test('a resumed loop undoes what its dead client changed in its last call', async (t) => {
  const project = aProtectedLoop(t);
  await preToolUse(asked(project, 'last', { command: 'node job.mjs' }));
  put(inTests(project, 'file-0.ts'), SPOILED);
  start(project, true, 'resume', later());
  assert.equal(textOf(inTests(project, 'file-0.ts')), 'test 0\n');
  const quiet = aProtectedLoop(t);
  await call(quiet, () => undefined);
  put(inTests(quiet, 'file-5.ts'), 'by hand\n');
  start(quiet, true, 'resume', later());
  assert.equal(textOf(inTests(quiet, 'file-5.ts')), 'by hand\n', 'control: nothing ran');
});

test('the snapshot is readable by its owner only and is removed when the loop ends', async (t) => {
  const project = aProtectedLoop(t);
  const snapshots = (): string[] => readdirSync(project.files.outsideDir).filter((name) => name.startsWith('snapshot'));
  assert.equal(snapshots().length, 3);
  for (const name of snapshots())
    assert.equal(statSync(join(project.files.outsideDir, name)).mode & 0o777, 0o600, name);
  await aStop(project, { last_assistant_message: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS' });
  assert.deepEqual(snapshots(), []);
});

function anUnchangedLoop(t: TestContext): Project {
  const project = aProject(t, '---\nvalidation: ["true"]\nunchanged: ["tests/**"]\n---\n\nMake the tests pass.\n');
  put(inTests(project, 'a.test.ts'), 'a\n');
  put(inTests(project, 'b.test.ts'), 'b\n');
  start(project, true);
  rewrite(project, { sessionId: 'session-1' });
  return project;
}

const DONE = { last_assistant_message: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS' };

test('unchanged: refuses a completion for a changed, new or missing file and names it', async (t) => {
  const project = anUnchangedLoop(t);
  put(inTests(project, 'a.test.ts'), 'weaker\n');
  put(inTests(project, 'c.test.ts'), 'c\n');
  chmodSync(inTests(project, 'b.test.ts'), 0o755);
  const refused = await aStop(project, { ...DONE, prompt_id: 'p1' });
  assert.equal(refused?.decision, 'block');
  assert.match(
    JSON.stringify(refused),
    /unchanged.*changed since the start of the loop: tests\/a\.test\.ts \(changed\), tests\/b\.test\.ts \(changed\), tests\/c\.test\.ts \(new\)\. Restore these files/,
  );
  put(inTests(project, 'a.test.ts'), 'a\n');
  rmSync(inTests(project, 'b.test.ts'));
  rmSync(inTests(project, 'c.test.ts'));
  assert.match(JSON.stringify(await aStop(project, { ...DONE, prompt_id: 'p2' })), /tests\/b\.test\.ts \(deleted\)/);
  put(inTests(project, 'b.test.ts'), 'b\n');
  const done = await aStop(project, { ...DONE, prompt_id: 'p3' });
  assert.equal(done?.decision, undefined);
  assert.match(done?.systemMessage ?? '', /verified by 2 checks/);
});

test('unchanged: compares with the version that the user accepted, and verifies nothing by itself', async (t) => {
  const project = anUnchangedLoop(t);
  put(inTests(project, 'a.test.ts'), 'by hand\n');
  const changed = changedContract(project.files, project.env);
  assert.deepEqual(changed.changes, ['unchanged file tests/a.test.ts: changed']);
  acceptContract(project.files, project.env, '2026-02-28T11:00:00Z', changed, PERSON);
  assert.match((await aStop(project, DONE))?.systemMessage ?? '', /verified by 2 checks/);

  const alone = aProject(t, '---\nunchanged: ["tests/**"]\n---\n\nWork.\n');
  put(inTests(alone, 'a.test.ts'), 'a\n');
  start(alone, true);
  rewrite(alone, { sessionId: 'session-1' });
  assert.doesNotMatch((await aStop(alone, DONE))?.systemMessage ?? '', /verified by/);
});

test('unchanged: a resume still compares with the start, and a new loop with its own start', async (t) => {
  const project = anUnchangedLoop(t);
  put(inTests(project, 'a.test.ts'), 'weaker\n');
  start(project, true, 'resume');
  rewrite(project, { sessionId: 'session-1' });
  const refused = JSON.stringify(await aStop(project, { ...DONE, prompt_id: 'p1' }));
  assert.match(refused, /changed since the start of the loop: tests\/a\.test\.ts \(changed\)/);
  start(project, true, 'fresh');
  rewrite(project, { sessionId: 'session-1' });
  assert.match((await aStop(project, { ...DONE, prompt_id: 'p2' }))?.systemMessage ?? '', /verified by 2 checks/);
});

test('unchanged: a loop that is resumed after a limit still compares with the start', async (t) => {
  const project = anUnchangedLoop(t);
  put(inTests(project, 'a.test.ts'), 'weaker\n');
  rewrite(project, { iteration: stateOf(project).maxIterations - 1 });
  await aStop(project, { last_assistant_message: 'Not yet.', prompt_id: 'p1' });
  assert.equal(existsSync(`${project.files.snapshot}.json`), false, 'the loop has ended');
  assert.equal(existsSync(project.files.unchanged), true);
});

test('unchanged: accepts no completion without its snapshot', async (t) => {
  const project = anUnchangedLoop(t);
  rmSync(project.files.unchanged);
  const refused = await aStop(project, DONE);
  assert.match(JSON.stringify(refused), /unchanged\.json is missing/);
  assert.equal(stateOf(project).status, 'paused');
});

test('takes away a file by which git would read the settings of another folder, in a worktree too', async (t) => {
  for (const isWorktree of [false, true]) {
    const project = aProject(t, '---\nvalidation: ["true"]\n---\n\nWork.\n');
    const folder = join(project.directory, isWorktree ? '../main/.git' : '.git');
    put(join(folder, 'worktrees/x/HEAD'), 'ref: refs/heads/main\n');
    if (isWorktree) put(join(project.directory, '.git'), `gitdir: ${folder}/worktrees/x\n`);
    start(project, true);
    rewrite(project, { sessionId: 'session-1' });
    const planted = join(folder, 'commondir');
    const { after } = await call(project, () => put(planted, '../other\n'));
    assert.equal(existsSync(planted), false);
    assert.match(after?.systemMessage ?? '', /\.git\/commondir \(new\): restored after/);
    await call(project, () => put(join(folder, 'index'), 'x'));
    assert.equal(existsSync(join(folder, 'index')), true, 'control: the rest of the folder is git’s own');
  }
});
