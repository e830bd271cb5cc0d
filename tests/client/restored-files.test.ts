import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { runRunner } from '../support/client/runner.ts';
import { bash, type MessageReply, status, steps, text, tool } from '../support/model/scripted-model.ts';
import { IS_LONG, someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const FRONTMATTER = `max_iterations: 1
guardrails:
  protected_files: ["tests/**"]`;

/** A program of the agent's: the guard cannot read what it writes. */
const JOB = `
import { readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
const jobs = {
  change: () => writeFileSync('tests/a.test.js', 'spoiled'),
  remove: () => rmSync('tests/deep', { recursive: true }),
  create: () => writeFileSync('tests/new.test.js', 'new'),
  link: () => { renameSync('tests', 'moved'); symlinkSync('moved', 'tests'); },
  settings: () => writeFileSync('.claude/settings.local.json', '{"disableAllHooks":true}'),
  later: () => setTimeout(() => { writeFileSync('tests/a.test.js', 'spoiled in the background'); writeFileSync('late.txt', ''); }, 500),
};
jobs[process.argv[2]]();
writeFileSync('work.txt', (() => { try { return readFileSync('work.txt', 'utf8'); } catch { return ''; } })() + process.argv[2] + '\\n');
`;
const FILES = { 'job.mjs': JOB, 'tests/a.test.js': 'a\n', 'tests/deep/b.test.js': 'b\n' };
const JOBS = ['change', 'remove', 'create', 'link', 'settings'];

const script = (): readonly MessageReply[] => [
  ...JOBS.map((job) => bash(`node job.mjs ${job}`)),
  tool('Agent', {
    ...{ description: 'work', prompt: 'do it', subagent_type: 'general-purpose', run_in_background: false },
  }),
  bash('node job.mjs later', { run_in_background: true }),
  bash('until [ -e late.txt ]; do sleep 0.1; done'),
  text('That was all.'),
];

function holds({ workspace }: LoopProject): void {
  assert.equal(workspace.read('tests/a.test.js'), 'a\n');
  assert.equal(workspace.read('tests/deep/b.test.js'), 'b\n');
  assert.equal(workspace.has('tests/new.test.js'), false);
  assert.equal(workspace.has('.claude/settings.local.json'), false);
  assert.match(workspace.read('work.txt'), /^change\nremove\ncreate\nlink\nsettings\n/);
}

for (const driver of someOf(['hook', 'runner'] as const, 2)) {
  test(`${driver}: the real client restores what the agent's programs change, and informs agent and user`, async () => {
    const main = steps(script());
    const subagent = steps([bash('node job.mjs change'), text('The subagent is done.')]);
    const all = { main: main.main, subagent: subagent.main, problems: () => [] };
    await inLoopProject({ frontmatter: FRONTMATTER, files: FILES }, all, async (project) => {
      const command = driver === 'runner' ? { command: ['run', '--permission-mode', 'bypassPermissions'] } : {};
      const run = await project.run(command);
      assert.equal(run.code, 2, `${run.said}\n${run.stderr}`);
      holds(project);
      const requests = project.model.requests.map(({ body }) => JSON.stringify(body)).join('\n');
      for (const told of ['a.test.js (changed)', 'deep/b.test.js (deleted)', 'new.test.js (new)', 'tests (new)']) {
        assert.ok(requests.includes(told), `the model was not told of ${told}`);
      }
      assert.match(
        `${run.said}\n${run.stdout}\n${run.stderr}`,
        /tests\/a\.test\.js \(changed\)[^\n]*restored after Bash/,
      );
      assert.match(`${run.said}\n${run.stdout}`, /Restored at .*tests\/new\.test\.js \(new\)/, 'the end report');
      const restored = project.events('notice.restore');
      assert.equal(restored.length, JOBS.length + 2, JSON.stringify(restored));
      assert.ok(restored.some(({ details, found }) => JSON.stringify({ details, found }).includes('Bash')));
    });
  });
}

/** Changes a test in a call that its client does not survive. */
const SPOIL = 'node job.mjs change; kill -9 $PPID';

test('a run whose client dies in a call that changed a protected file restores it before it gives up', async () => {
  const main = { main: ({ index }: { index: number }) => (index === 0 ? bash(SPOIL) : status(400)) };
  const options = { standIn: !IS_LONG, frontmatter: FRONTMATTER, files: FILES };
  await inLoopProject(options, main, async (project) => {
    const run = await runRunner(project, { env: { RALPH_RETRY_WAIT: '20ms' }, json: false });
    assert.equal(run.code, 1, run.stdout + run.stderr);
    assert.equal(project.workspace.read('work.txt'), 'change\n', 'control: the program ran');
    assert.equal(project.workspace.read('tests/a.test.js'), 'a\n');
    assert.match(run.stdout, /tests\/a\.test\.js \(changed\): restored at the end of the turn/);
    assert.equal(project.events('notice.restore').length, 1);
  });
});

test('a session whose client dies in a call that changed a protected file restores it, and says so', async () => {
  const main = steps([bash(SPOIL)]);
  await inLoopProject({ standIn: !IS_LONG, frontmatter: FRONTMATTER, files: FILES }, main, async (project) => {
    const run = await project.run();
    assert.equal(project.workspace.read('work.txt'), 'change\n', 'control: the program ran');
    assert.equal(project.workspace.read('tests/a.test.js'), 'a\n');
    assert.match(`${run.said}${run.stdout}${run.stderr}`, /a\.test\.js \(changed\): restored at the end of the turn/);
  });
});

test('what a user writes after client and launcher were killed in a call stays when the loop is cancelled', async () => {
  const main = steps([bash('node job.mjs change; kill -9 $(ps -o ppid= -p $PPID) $PPID')]);
  await inLoopProject({ standIn: !IS_LONG, frontmatter: FRONTMATTER, files: FILES }, main, async (project) => {
    await project.run();
    assert.equal(project.workspace.read('tests/a.test.js'), 'spoiled', 'control: nothing has restored it');
    project.workspace.write('tests/a.test.js', 'mine\n');
    const { code, stdout } = project.main(['cancel']);
    assert.equal(code, 0, stdout);
    assert.equal(project.workspace.read('tests/a.test.js'), 'mine\n');
  });
});

for (const driver of ['hook', 'runner'] as const)
  test(`${driver}: a loop that is cancelled in a call restores what the call has changed so far`, async () => {
    const main = steps([bash('node job.mjs change; until [ -e over ]; do sleep 0.1; done'), text('over')]);
    await inLoopProject({ standIn: !IS_LONG, frontmatter: FRONTMATTER, files: FILES }, main, async (project) => {
      const command = driver === 'runner' ? { command: ['run', '--permission-mode', 'bypassPermissions'] } : {};
      const running = project.run(command);
      await until('the call has changed the file', () => project.workspace.has('work.txt'));
      assert.equal(project.workspace.read('tests/a.test.js'), 'spoiled', 'control');
      const { code, stdout } = project.main(['cancel']);
      assert.equal(code, 0);
      assert.equal(project.workspace.read('tests/a.test.js'), 'a\n');
      project.workspace.write('over', '');
      const { said, stdout: shown } = await running;
      assert.match(`${stdout}${said}${shown}`, /Restored at .*tests\/a\.test\.js \(changed\)/, 'the end report');
    });
  });

test('control: without the rule the same programs change the files', async () => {
  const main = steps([bash('node job.mjs change'), bash('node job.mjs create'), text('That was all.')]);
  const options = { standIn: !IS_LONG, frontmatter: 'max_iterations: 1', files: FILES };
  await inLoopProject(options, main, async (project) => {
    await project.run();
    assert.equal(project.workspace.read('tests/a.test.js'), 'spoiled');
    assert.equal(project.workspace.has('tests/new.test.js'), true);
  });
});

/** Makes a link as no rule reads it; those of `ln` are followed. */
const linked = (target: string, path: string): string => `node -e "require('fs').symlinkSync('${target}', '${path}')"`;

/** Commands whose targets only a run could tell: the guard lets them run. */
const UNREAD: readonly string[] = [
  'git init -q -b main && git add tests && git -c user.name=a -c user.email=a@b commit -qm one',
  `${linked('..', 'src/up')} && echo spoiled > src/up/tests/a.test.js`,
  `${linked('..', 'src/above')}; rm -rf src/above/tests`,
  `${linked('.', 'here')} && echo '{"disableAllHooks":true}' > here/.claude/settings.local.json`,
  'git ls-tree -r --name-only HEAD | xargs rm',
];

test('what a command does through links and lists that the guard cannot read is undone', async () => {
  const main = steps([...UNREAD.map((command) => bash(command)), text('That was all.')]);
  const options = { standIn: !IS_LONG, frontmatter: FRONTMATTER, files: { ...FILES, 'src/a.js': 'a\n' } };
  await inLoopProject(options, main, async (project) => {
    await project.run({ command: ['run', '--permission-mode', 'bypassPermissions'] });
    assert.equal(project.events('notice.restore').length, UNREAD.length - 1, 'control: each command changed something');
    assert.equal(project.workspace.read('tests/a.test.js'), 'a\n');
    assert.equal(project.workspace.read('tests/deep/b.test.js'), 'b\n');
    assert.equal(project.workspace.has('.claude/settings.local.json'), false);
  });
});
