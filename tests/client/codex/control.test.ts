import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { descendantRunning, isRunning, lives, signalQuietly } from '../../support/client/process-tree.ts';
import { ofType } from '../../support/client/runner.ts';
import { inCodexProject, wrapperIn } from '../../support/codex/codex-project.ts';
import { say, shell } from '../../support/codex/responses-model.ts';
import { longTest } from '../../support/short-form.ts';
import { until } from '../../support/until.ts';

const DONE = say('All done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');

longTest('Codex: a message arrives with the next tool call, and a cancel ends the agent and its command', async () => {
  const script = [shell('until test -f go.txt; do sleep 0.2; done'), shell('sleep 31337'), DONE];
  await inCodexProject({ frontmatter: 'max_iterations: 3' }, script, async (project) => {
    const running = project.begin();
    await until('the first command runs', () => project.calls().length === 1);
    assert.equal(project.main(['steer', 'Mind the gap.']).code, 0);
    project.workspace.write('go.txt', '');
    await until('the second command runs', () => isRunning('sleep 31337'));
    assert.match(
      project.model.requests[1]?.input ?? '',
      /The user says, to be followed from now on:\\\\?nMind the gap/,
    );
    await until('the user sees that it has arrived', () => ofType(running.events(), 'steering.sent').length > 0);
    assert.equal(project.main(['cancel']).code, 0);
    const run = await running.done;
    const [ended] = ofType(run.events, 'run.ended');
    assert.deepEqual([ended?.status, ended?.costUsd], ['cancelled', null], run.stdout + run.stderr);
    const told = ofType(run.events, 'steering.sent').map(({ texts }) => texts);
    assert.deepEqual(told, [['Mind the gap.']]);
    assert.match(run.stderr, /Codex runs with its sandbox danger-full-access/);
    assert.equal(isRunning('sleep 31337'), false, 'SIGINT has Codex end its command');
  });
});

test('Codex: a client whose wrapper alone is killed ends, is started again, and its tokens count', async () => {
  const script = [shell('sleep 31338'), shell('touch made.txt'), DONE];
  const frontmatter = 'max_iterations: 2\nvalidation: ["test -f made.txt"]';
  await inCodexProject({ frontmatter }, script, async (project) => {
    const env = { RALPH_RETRY_WAIT: '100ms', RALPH_CODEX: wrapperIn(project.workspace) };
    const running = project.begin([], { env });
    await until('its command runs', () => isRunning('sleep 31338'));
    const [wrapper, native] = [/wrapper\.sh/, /bin\/codex exec/].map((line) => descendantRunning(running.pid, line));
    assert.ok(wrapper !== undefined && native !== undefined);
    signalQuietly(wrapper, 'SIGKILL');
    await until('the next client starts', () => project.model.requests.length === 2);
    assert.deepEqual([lives(native), isRunning('sleep 31338')], [false, false]);
    const run = await running.done;
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.equal(
      project.iterations()[0]?.['outputTokens'],
      60,
      'three requests of 20 tokens, one of them of the killed client',
    );
  });
});

test('Codex: a token limit ends a run while it works', async () => {
  const script = (request: { readonly index: number }) => shell(`sleep 1; echo ${request.index}`);
  await inCodexProject({ frontmatter: 'max_iterations: 3\nbudget: {max_tokens: 2500}' }, script, async (project) => {
    const run = await project.begin().done;
    assert.equal(run.code, 2, run.stdout + run.stderr);
    assert.match(project.ended().as, /budget/);
    assert.equal(project.iterations().length, 1);
    assert.ok(project.model.requests.length < 12, `${project.model.requests.length} requests`);
  });
});

longTest('control: outside a loop, the client behind a wrapper that is killed works on', async () => {
  await inCodexProject({}, [shell('sleep 31340')], async ({ workspace, environment }) => {
    const words = ['exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access', 'Begin.'];
    const wrapper = spawn(wrapperIn(workspace), words, {
      cwd: workspace.project,
      env: environment(),
      stdio: 'ignore',
      detached: true,
    });
    const pid = wrapper.pid ?? 0;
    try {
      await until('its command runs', () => isRunning('sleep 31340'));
      const native = descendantRunning(pid, /bin\/codex exec/) ?? 0;
      wrapper.kill('SIGKILL');
      await once(wrapper, 'exit');
      assert.deepEqual([lives(native), isRunning('sleep 31340')], [true, true]);
    } finally {
      signalQuietly(-pid, 'SIGTERM');
    }
  });
});
