import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunningLauncher } from '../support/client/loop-project.ts';
import { descendantRunning, isRunning, killTree, lives } from '../support/client/process-tree.ts';
import { inTaskFolder, type TaskLoop } from '../support/client/task-loop.ts';
import { bash, hang, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest, someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const MEMORY = 'my-task/RALPH_PROGRESS.md';
const ralph = (frontmatter: string): string =>
  `---\nmax_iterations: 3\n${frontmatter}\n---\nDo the work: {{ commands.look }}\n`;
const quick = ralph('commands: [{ name: look, run: cat half.txt 2>/dev/null || echo nothing }]');

const clientOf = ({ project }: TaskLoop): number => Number(project.state()?.['clientPid']);
const iterations = ({ records }: TaskLoop): number[] => records().map(({ iteration }) => iteration);

const killInIteration2 = () =>
  steps([
    ...[bash(`echo 'one is done' | tee one.txt > ${MEMORY}`), text('one')],
    ...[bash('echo half > half.txt'), hang()],
    ...[text('two'), text('three')],
  ]);

/** The client hangs in its second iteration, half of which is done. */
const inTheMiddle = async (loop: TaskLoop): Promise<RunningLauncher> => {
  const running = loop.start();
  await until('the second iteration is half done', () => loop.project.model.mainRequests().length === 4);
  return running;
};

const assertWentOn = async (loop: TaskLoop): Promise<void> => {
  const run = await loop.run({ args: ['--resume'] });
  assert.equal(run.code, 2, run.said);
  const again = loop.told()[4] ?? '';
  assert.match(again, /Iteration 2 of 3/);
  assert.match(again, /## Your memory: my-task\/RALPH_PROGRESS\.md\s+one is done/);
  assert.match(again, /^Do the work: half$/m);
  assert.deepEqual(iterations(loop), [1, 2, 3]);
  assert.equal(loop.project.ended().as, 'max-iterations');
  assert.equal(loop.status().iteration, 3);
};

test('a client that is killed during an iteration leaves a loop that resume continues with its counters', async () => {
  await inTaskFolder({ standIn: !IS_LONG, ralph: quick, git: true }, killInIteration2(), async (loop) => {
    const running = await inTheMiddle(loop);
    process.kill(clientOf(loop), 'SIGKILL');
    const run = await running.done;
    assert.equal(run.code, 130, run.said);
    assert.match(
      run.said,
      /Interrupted: the client exited while the loop was live\. Resume: ralph-loop resume my-task/,
    );
    assert.equal(loop.status().status, 'paused');
    await assertWentOn(loop);
  });
});

longTest(
  'after launcher and client are killed start refuses with the ways to continue, and resume continues',
  async () => {
    await inTaskFolder({ standIn: true, ralph: quick, git: true }, killInIteration2(), async (loop) => {
      const running = await inTheMiddle(loop);
      killTree(running.pid);
      await running.done;
      assert.equal(loop.project.state()?.['status'], 'running');
      const refused = await loop.run();
      assert.equal(refused.code, 1);
      assert.match(
        refused.said,
        /Found an interrupted loop \(1 iteration done\); no process runs it\.[\s\S]*resume[\s\S]*--fresh/,
      );
      await assertWentOn(loop);
    });
  },
);

longTest('a fresh start archives the loop of a killed client and begins again', async () => {
  const script = steps([text('one'), hang(), text('anew')]);
  await inTaskFolder({ standIn: true, ralph: ralph('') }, script, async (loop) => {
    const running = loop.start();
    await until('the client hangs', () => loop.project.model.mainRequests().length === 2);
    const refused = loop.project.main(['start', '--task', 'my-task', '--json']);
    assert.match(refused.stderr, /A loop is already running \(iteration 1, client process \d+\)/, 'control: it lives');
    killTree(running.pid);
    await running.done;
    const run = await loop.run({ args: ['--fresh', '--max-iterations', '1'] });
    assert.equal(run.code, 2, run.said);
    assert.match(loop.told()[2] ?? '', /Iteration 1 of 1/);
    assert.deepEqual(
      loop.project.archive().map(({ name }) => name.replace(/^.*Z-/, '')),
      ['interrupted.json', 'no-progress-exhaustion.json'],
    );
    assert.deepEqual(iterations(loop), [1, 1]);
  });
});

let commands = 0;
/** A command line of its own for each test: what one leaves behind is not another's. */
const endless = (): string => `sleep 600.${process.pid}${commands++}`;
/** Shows something where a file is, and else runs on, whether anybody listens or not. */
const long = (command: string): string =>
  ralph(`commands: [{ name: look, run: "cat go || ${command}", timeout: 300 }]`);
const longGate = (command: string): string =>
  ralph(
    `completion_promise: DONE\ncommands: [{ name: check, run: "cat go || ${command}", timeout: 300, acceptance: true }]`,
  );
const files = { 'my-task/OPEN_QUESTIONS.md': '# P0\n', go: 'went\n' };

const EVIDENCE = ['evidence', long, text('one')] as const;
const ACCEPTANCE = ['an acceptance command', longGate, text('<promise>DONE</promise>')] as const;
/** The short form has each victim and each kind of command once. */
const KILLS = [
  [...EVIDENCE, 'the client'],
  [...EVIDENCE, 'the Stop hook'],
  [...ACCEPTANCE, 'the Stop hook'],
  [...ACCEPTANCE, 'the client'],
] as const;

for (const [what, ralphOf, last, victim] of someOf(KILLS, 2)) {
  test(`${victim} is killed while ${what} runs: nothing of the command is left, and the loop can continue`, async () => {
    const script = steps([bash('rm go'), last, text('next'), text('next again'), text('the last')], text('more'));
    const forEver = endless();
    await inTaskFolder({ standIn: true, ralph: ralphOf(forEver), files }, { main: script.main }, async (loop) => {
      const { workspace, project } = loop;
      const running = loop.start();
      await until('control: the command runs', () => isRunning(forEver));
      const hook = descendantRunning(running.pid, /^\S*node .*\/ralph-stop-hook\.cjs/);
      assert.ok(hook !== undefined);
      process.kill(victim === 'the client' ? clientOf(loop) : hook, 'SIGKILL');
      await until('nothing of the command is left', () => !isRunning(forEver));
      const run = await running.done;
      // One that outlives its client has something to write down still.
      await until('the hook has ended', () => !lives(hook));
      assert.equal(run.code, 130, run.said);
      assert.equal(project.state()?.['iteration'], 1);

      workspace.write('go', 'went\n');
      const resumed = await loop.run({ args: ['--resume'] });
      assert.equal(resumed.code, 2, resumed.said);
      assert.match(loop.told()[2] ?? '', /Iteration 2 of 3/);
      assert.deepEqual(
        project.iterations().map(({ iteration }) => iteration),
        [1, 2, 3],
      );
      assert.equal(loop.status().status, 'no-progress-exhaustion');
      assert.deepEqual(iterations(loop), [1, 2, 3]);
      // A hook that outlives its client decides; one that is killed in the gate leaves that to the next comer.
      const lost = ralphOf === longGate && victim === 'the Stop hook';
      assert.equal(loop.records()[0]?.status, lost ? 'interrupted' : 'completed');
    });
  });
}
