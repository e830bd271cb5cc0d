import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readState } from '../../src/state/loop-files.ts';
import { scratch } from '../support/faults/bundle-state.ts';
import { bundleVariant } from '../support/faults/bundle-variant.ts';
import {
  agentNotes,
  allGone,
  counted,
  misAccounted,
  misCounted,
  misRecorded,
  type RunnerProject,
  runnerProject,
  type StartedRunner,
  startRunner,
} from './support/runner-stress.ts';

/** RALPH_RUNNER_KILLS=200 (npm run stress:runner) is the long form. */
const KILLS = Number(process.env['RALPH_RUNNER_KILLS'] ?? 10);
/** A loop has a hundred iterations at most: then a fresh one begins. */
const MOST_ITERATIONS = 70;

const dist = fileURLToPath(new URL('../../dist/plugin', import.meta.url));
const { directory, remove } = scratch('disk');
const bundle = join(directory, 'bundle');

before(() => {
  assert.ok(existsSync(join(dist, 'scripts', 'main.cjs')), 'the bundle is there: npm run build');
  cpSync(dist, bundle, { recursive: true });
});
after(remove);

/** Once its first agent works, or right from its start: a runner is killed in its beginning as well. */
async function killSomeTime(runner: StartedRunner, { journal }: RunnerProject): Promise<void> {
  const notes = agentNotes(journal).length;
  const early = Math.random() < 0.3;
  const wait = (ms: number): Promise<unknown> => Promise.race([runner.over, new Promise((go) => setTimeout(go, ms))]);
  if (early) await wait(Math.random() * 400);
  else {
    while (agentNotes(journal).length === notes && runner.child.exitCode === null) await wait(5);
    await wait(Math.random() * 700);
  }
  assert.equal(runner.child.exitCode, null, `it ended by itself: ${runner.said()}`);
  runner.child.kill('SIGKILL');
  await runner.over;
}

interface Round {
  readonly kills: number;
  readonly iteration: number;
}

/** Kills the runners of one loop, one after the other, then lets the last one end it. */
async function round(project: RunnerProject, kills: number): Promise<Round> {
  const generations: { notes: number; iteration: number }[] = [];
  let killed = 0;
  while (killed < kills && counted(project).iteration < MOST_ITERATIONS) {
    const args = existsSync(project.files.state) ? ['--resume'] : [];
    await killSomeTime(startRunner(project, args), project);
    killed += 1;
    // Now and then the next one comes at once, while what the killed one left is still being ended.
    if (Math.random() < 0.5) await allGone(project);
    generations.push({ notes: agentNotes(project.journal).length, ...counted(project) });
  }
  writeFileSync(project.finish, '');
  const last = await startRunner(project, existsSync(project.files.state) ? ['--resume'] : []).over;
  assert.equal(last.code, 0, last.said);
  await allGone(project);
  const end = counted(project);
  const notes = agentNotes(project.journal);
  generations.push({ notes: notes.length, ...end });
  assert.deepEqual(misCounted(notes, generations), []);
  assert.deepEqual(misRecorded(project, end.iteration), []);
  assert.deepEqual(misAccounted(project, end), []);
  return { kills: killed, ...end };
}

test('After kills at any moment the next runner continues: each iteration counts once, no process is left.', async (t) => {
  let killed = 0;
  let iterations = 0;
  for (let nth = 0; killed < KILLS; nth++) {
    const root = join(directory, `round-${nth}`);
    mkdirSync(root);
    const project = runnerProject(root, join(bundle, 'scripts', 'main.cjs'));
    const { kills, iteration } = await round(project, KILLS - killed);
    killed += kills;
    iterations += iteration;
  }
  assert.ok(iterations > 1, 'the runners did work');
  t.diagnostic(`${killed} kills, ${iterations} iterations`);
});

test('Control: two runners at once, without lease and epoch, miscount what their agents did.', async () => {
  const unfenced = await bundleVariant(join(directory, 'unfenced'), [
    { file: 'drive/runner/run-loop.ts', from: 'takeLease(files,', to: 'freeForAll(files,' },
    { file: 'drive/runner/run-loop.ts', from: /^/, to: FREE_FOR_ALL },
    { file: 'drive/start/beginning-state.ts', from: 'if (clientAlive(state))', to: 'if (false)' },
    { file: 'state/with-state.ts', from: 'writer.epoch >= current.epoch', to: 'true' },
    // Else the first one pauses over the contract that the second one writes.
    { file: 'drive/runner/run-loop.ts', from: 'holdEvidence(files, started.loopId)', to: '() => undefined' },
  ]);
  const root = join(directory, 'control');
  mkdirSync(root);
  // A turn is most of an iteration, however slow the machine is: then both are in one at the same time.
  const project = runnerProject(root, unfenced, '', { FAKE_WORK: '0.7' });
  const first = startRunner(project);
  while (agentNotes(project.journal).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const second = startRunner(project, ['--resume']);
  let iteration = 0;
  const wrong = (): string[] => {
    // Runners that end the loop put its state away, both at once: then its last count stays.
    const live = readState(project.files.state);
    if (live.kind === 'loop') iteration = live.state.iteration;
    const notes = agentNotes(project.journal);
    return misCounted(notes, [{ notes: notes.length, iteration }]);
  };
  const seen = (): boolean =>
    ['was not alone', 'was told'].every((words) => wrong().some((line) => line.includes(words)));
  // A hundred iterations are the most that they have for it.
  while (!seen() && first.child.exitCode === null && second.child.exitCode === null) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  for (const { child } of [first, second]) child.kill('SIGKILL');
  await Promise.all([first.over, second.over]);
  await allGone(project);
  const said = [first, second].map((runner) => runner.said()).join('\n---\n');
  assert.ok(seen(), `the test saw no two agents at work, or no number told twice: ${wrong().join('; ')}\n${said}`);
});

const FREE_FOR_ALL = `
const freeForAll = (..._: unknown[]) => ({ noteAgent: () => {}, alone: Promise.resolve(), release: () => {} });
`;
