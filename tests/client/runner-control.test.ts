import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { ofType, type RunningRunner, runRunner, startRunner } from '../support/client/runner.ts';
import { bash, hang, type Reply, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const done = text('Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');
const options = { frontmatter: 'max_iterations: 5', init: false } as const;

/** Processes that work in this project or for its loop: agents, their shells, the watch over them. */
const leftOver = (project: LoopProject): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        const state = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0];
        const works = readFileSync(`/proc/${pid}/environ`, 'utf8').includes(project.workspace.root);
        return works && state !== 'Z' ? [`${pid} ${line.slice(0, 120)}`] : [];
      } catch {
        return []; // gone, or another user's
      }
    });

const nobodyIsLeft = (project: LoopProject): Promise<unknown> =>
  until(`nobody is left: ${leftOver(project).join('; ')}`, () => leftOver(project).length === 0);

const working = (project: LoopProject, requests: number): Promise<unknown> =>
  until(`request ${requests}`, () => project.model.mainRequests().length === requests);

/** Answers once the test lets it: until then the agent is at work, however slow the test is. */
const gated = (reply: Reply): { readonly answer: () => Promise<Reply>; readonly open: () => void } => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { answer: () => opened.then(() => reply), open };
};

const notices = (running: RunningRunner): string[] =>
  ofType(running.events(), 'agent.notice').map(({ message }) => message);

longTest('Ctrl+C once ends the loop after the iteration', async () => {
  const first = gated(text('first done'));
  await inLoopProject({ ...options, standIn: true }, steps([first.answer]), async (project) => {
    const running = startRunner(project);
    await working(project, 1);
    running.signal('SIGINT');
    await until('it is heard', () =>
      notices(running).some((line) => line.startsWith('The loop stops after this iteration.')),
    );
    first.open();
    const run = await running.done;
    project.model.check();
    assert.equal(run.code, 3, run.stdout + run.stderr);
    assert.equal(project.ended().as, 'stopped');
    assert.deepEqual(
      project.iterations().map(({ iteration }) => iteration),
      [1],
    );
    await nobodyIsLeft(project);
  });
});

test('Ctrl+C twice cancels at once, and no agent is left', async () => {
  await inLoopProject({ ...options, standIn: !IS_LONG }, { main: () => hang('start') }, async (project) => {
    const running = startRunner(project);
    await working(project, 1);
    running.signal('SIGINT');
    await until('the first is heard', () =>
      notices(running).some((line) => line.startsWith('The loop stops after this iteration.')),
    );
    running.signal('SIGINT');
    const run = await running.done;
    assert.equal(run.code, 130, run.stdout + run.stderr);
    assert.equal(project.ended().as, 'cancelled');
    await nobodyIsLeft(project);
  });
});

test('Ctrl+C during an idle wait stops the loop, without a call of the model', async () => {
  const idle = text('Nothing to do.\n\n<!-- ralph:state idle -->');
  const frontmatter = 'max_iterations: 5\nidle: {delay: 5m, max: 6h}';
  await inLoopProject({ ...options, standIn: true, frontmatter }, steps([idle]), async (project) => {
    const running = startRunner(project);
    await until('it waits', () => project.state()?.['status'] === 'waiting');
    running.signal('SIGINT');
    const run = await running.done;
    project.model.check();
    assert.equal(run.code, 3, run.stdout + run.stderr);
    assert.equal(project.ended().as, 'stopped');
    assert.equal(project.events('iteration.idle').length, 1);
    await nobodyIsLeft(project);
  });
});

longTest('a runner that is terminated leaves its loop ready to resume', async () => {
  await inLoopProject({ ...options, standIn: true }, steps([text('one'), hang('start'), done]), async (project) => {
    const running = startRunner(project);
    await working(project, 2);
    running.signal('SIGTERM');
    const run = await running.done;
    assert.equal(run.code, 130, run.stdout + run.stderr);
    assert.equal(project.state()?.['status'], 'paused');
    assert.match(ofType(run.events, 'run.ended')[0]?.message ?? '', /ralph-loop resume\./);
    await nobodyIsLeft(project);
    const resumed = await runRunner(project, { args: ['--resume'] });
    assert.equal(resumed.code, 0, resumed.stdout + resumed.stderr);
    assert.deepEqual(
      project.iterations().map(({ iteration }) => iteration),
      [1, 2],
    );
  });
});

longTest('a killed runner leaves no agent and none of its shells, and run --resume keeps the counters', async () => {
  const model = steps([text('one'), bash('sleep 300', { run_in_background: true }), hang('start'), done]);
  await inLoopProject(options, model, async (project) => {
    const running = startRunner(project);
    await working(project, 3);
    assert.ok(leftOver(project).length >= 3, 'runner, agent and its shell are at work');
    running.kill();
    await running.done;
    await nobodyIsLeft(project);
    assert.equal(project.state()?.['status'], 'running');
    const refused = await runRunner(project);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /Found an interrupted loop \(1 iteration done\)/);
    const resumed = await runRunner(project, { args: ['--resume'] });
    project.model.check();
    assert.equal(resumed.code, 0, resumed.stdout + resumed.stderr);
    assert.deepEqual(
      project.iterations().map(({ iteration }) => iteration),
      [1, 2],
    );
    assert.equal(project.archive()[0]?.state['epoch'], 1);
  });
});

longTest('a second runner on the same loop is refused with its holder and changes nothing', async () => {
  const last = gated(done);
  await inLoopProject({ ...options, standIn: true }, steps([last.answer]), async (project) => {
    const running = startRunner(project);
    await working(project, 1);
    for (const args of [[], ['--resume'], ['--fresh']]) {
      const second = await runRunner(project, { args });
      assert.equal(second.code, 1);
      const { pid } = running;
      assert.match(
        second.stderr,
        new RegExp(
          `runner already works on this loop \\(process ${pid}\\)|already running \\(iteration 0, client process ${pid}\\)`,
        ),
      );
    }
    const hook = project.main(['start', '--fresh']);
    assert.equal(hook.code, 1);
    assert.match(hook.stderr, /A loop is already running \(iteration 0, client process \d+\)/);
    last.open();
    const run = await running.done;
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
  });
});

longTest('a loop that is cancelled from another terminal ends with its agent', async () => {
  await inLoopProject({ ...options, standIn: true }, { main: () => hang('start') }, async (project) => {
    const running = startRunner(project);
    await working(project, 1);
    assert.equal(project.main(['cancel']).code, 0);
    const run = await running.done;
    assert.equal(run.code, 130, run.stdout + run.stderr);
    assert.equal(ofType(run.events, 'run.ended')[0]?.status, 'cancelled');
    await nobodyIsLeft(project);
  });
});

test('a loop that is stopped or paused from another terminal finishes its iteration first', async () => {
  const [one, two] = [gated(text('one')), gated(text('two'))];
  await inLoopProject({ ...options, standIn: true }, steps([one.answer, two.answer]), async (project) => {
    const running = startRunner(project);
    await working(project, 1);
    assert.equal(project.main(['pause']).code, 0);
    one.open();
    await until('it rests', () => notices(running).some((line) => line.includes('ralph-loop resume')));
    assert.equal(project.main(['resume']).code, 0);
    await working(project, 2);
    assert.equal(project.main(['stop']).code, 0);
    two.open();
    const run = await running.done;
    project.model.check();
    assert.equal(run.code, 3, run.stdout + run.stderr);
    assert.equal(project.ended().as, 'stopped');
  });
});

test('a message from another terminal reaches the agent during its iteration, once', async () => {
  const first = gated(bash('echo hi'));
  const model = steps([first.answer, done], done);
  await inLoopProject(options, model, async (project) => {
    const { workspace } = project;
    const heard = workspace.path('../heard.jsonl');
    const wrapped = `#!/bin/sh\n[ "$1" = --version ] && exec claude --version\ntee -a '${heard}' | claude "$@"\n`;
    const env = { RALPH_CLAUDE: workspace.write('../bin/heard-claude', wrapped, 0o755) };
    const running = startRunner(project, { env });
    await working(project, 1);
    assert.equal(project.main(['steer', 'Mind the TEETH.']).code, 0);
    await until('the client is sent it', () => workspace.read(heard).includes('Mind the TEETH.'));
    first.open();
    const run = await running.done;
    assert.equal(run.code, 0, run.stdout + run.stderr);
    const told = project.model.mainRequests().filter(({ sinceText }) => sinceText.includes('Mind the TEETH.'));
    assert.equal(told.length, 1);
    assert.equal(project.events('steering.delivered').length, 1);
  });
});
