import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { runClient } from '../support/client/client.ts';
import { CLIENT } from '../support/client/client-facts.ts';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { ofType, startRunner } from '../support/client/runner.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { longTest, someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const inBackground = (command: string) => bash(command, { run_in_background: true });

test('the hook waits for a background shell, and its notification does not count as an iteration', async () => {
  await inLoopProject(
    { frontmatter: 'max_iterations: 4' },
    steps([
      // The shell ends once the hook, which was told that it runs, has begun.
      inBackground('until pgrep -f "^[^ ]*node [^ ]+ $PWD/[^ ]*stop-hook"; do sleep 0.1; done; echo built'),
      text('The build runs.'),
      (request) => {
        assert.match(request.sinceText, /<task-notification>/);
        return text('The build is over.');
      },
      text('Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS'),
    ]),
    async (project) => {
      const run = await project.run();
      project.model.check();
      assert.equal(run.code, 0, run.said);
      assert.deepEqual(
        project.events('turn.released').map(({ why, iteration }) => [why, iteration]),
        [['background', 0]],
      );
      assert.deepEqual(
        project.iterations().map(({ iteration, toolCalls }) => [iteration, toolCalls]),
        [
          [1, 1],
          [2, 0],
        ],
      );
      assert.equal(project.events('background.waited-out').length, 0);
    },
  );
});

longTest('the hook waits for an endless background shell as long as allowed, and only once', async () => {
  await inLoopProject(
    { frontmatter: 'background_wait: 4s\nmax_iterations: 3' },
    steps([inBackground('tail -f /dev/null'), text('It serves.'), text('Second look.'), text('Third look.')]),
    async (project) => {
      const run = await project.run();
      project.model.check();
      assert.equal(run.code, 2, run.said);
      assert.equal(run.timedOut, false, 'the shell that runs on does not hold the launcher');
      const at = project.model.mainRequests().map((request) => request.at);
      const waited = (at[2] ?? 0) - (at[1] ?? 0);
      assert.ok(waited >= 4_000, `decided after ${waited} ms, as if nothing ran`);
      assert.equal(project.events('background.waited-out').length, 1, 'and without waiting again');
      assert.equal(project.iterations().length, 3);
    },
  );
});

const claim = text('All done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');
/** Longer than a slow machine takes between two changes of the project. */
const SHORT = { RALPH_CLAIM_WAIT: '20s' };

type Driven = {
  readonly done: Promise<{ readonly code: number | null; readonly said: string }>;
  /** What was said so far. */
  readonly told: () => readonly string[];
};

const DRIVERS: readonly (readonly [string, (project: LoopProject) => Driven])[] = [
  [
    'a session',
    (project) => ({
      done: project.run({ env: SHORT }),
      told: () => project.events('background.awaited').map(({ message }) => String(message)),
    }),
  ],
  [
    'run',
    (project) => {
      const { done, events } = startRunner(project, { env: SHORT });
      return {
        done: done.then(({ code, stdout, stderr }) => ({ code, said: stdout + stderr })),
        told: () => ofType(events(), 'agent.notice').map(({ message }) => message),
      };
    },
  ],
];

const wait = (command: string) =>
  `Waiting for background work of the agent, at most 20s, or longer while it changes the project: ${command}`;

for (const [driver, drive] of someOf(DRIVERS, 2, 1)) {
  test(`a claim beside a shell that changes nothing is judged soon and says why: ${driver}`, async () => {
    const model = steps([inBackground('sleep 3177'), bash('touch made.txt'), claim]);
    await inLoopProject({ frontmatter: 'validation: ["test -f made.txt"]' }, model, async (project) => {
      const { done, told } = drive(project);
      const { code, said } = await done;
      project.model.check();
      assert.equal(code, 0, said);
      assert.ok(told().includes(wait('sleep 3177')), said);
      assert.equal(project.ended().verified, true);
    });
  });

  if (driver === 'run' && !CLIENT.waitsForShells) continue;

  // The control: judged after the same time, this claim would be refused.
  test(`a claim beside a shell that changes the project waits for it: ${driver}`, async () => {
    const builds = 'until test -f enough; do sleep 4; echo more >> log.txt; done; touch built.txt';
    const script = steps([inBackground(builds), claim, claim]);
    await inLoopProject({ frontmatter: 'validation: ["test -f built.txt"]' }, script, async (project) => {
      const { done, told } = drive(project);
      const waits = () => told().filter((each) => each === wait(builds)).length;
      let over = false;
      void done.finally(() => (over = true));
      await until('a second wait', () => over || waits() >= 2);
      project.workspace.write('enough', '');
      const { code, said } = await done;
      assert.equal(code, 0, said);
      assert.ok(waits() >= 2, told().join('\n'));
      assert.equal(project.events('completion.rejected').length, 0, said);
    });
  });
}

/** A server in a session of its own, which outlives its shell and the client. */
const server = (seconds: number) => bash(`setsid sleep ${seconds} > log.txt 2>&1 &\necho $! > pid.txt; echo started`);

const runs = (command: string): boolean => spawnSync('pgrep', ['-f', `^${command}$`]).status === 0;

for (const [driver, drive] of someOf(DRIVERS, 2, 1)) {
  test(`what the agent left running ends with the loop and is named: ${driver}`, async () => {
    const seconds = driver === 'run' ? 3178 : 3179;
    await inLoopProject({ frontmatter: 'max_iterations: 2' }, steps([server(seconds), claim]), async (project) => {
      const { code, said } = await drive(project).done;
      project.model.check();
      assert.equal(code, 0, said);
      assert.match(said, new RegExp(`Ended what the agent had left running: sleep ${seconds} \\(process \\d+\\)`));
      assert.equal(runs(`sleep ${seconds}`), false);
    });
  });
}

test('a session that goes on after its loop is told what the agent left running', async () => {
  const script = steps([server(3180), claim]);
  await inLoopProject({ frontmatter: 'max_iterations: 2' }, script, async (project) => {
    const { loopId } = JSON.parse(project.main(['start', '--json']).stdout) as { loopId: string };
    const { workspace, model } = project;
    const { stdout } = await runClient({ workspace, model, settings: project.settings(loopId), prompt: 'begin' });
    assert.equal(project.ended().as, 'complete', stdout);
    assert.equal(runs('sleep 3180'), true, 'control: nothing has ended it');
    if (!CLIENT.printsStopMessages) return;
    const [, pid = ''] = /Still running, started by the agent: sleep 3180 \(process (\d+)\)/.exec(stdout) ?? [];
    assert.match(stdout, new RegExp(`End with: kill ${pid}\\b`), stdout);
    process.kill(Number(pid));
  });
});
