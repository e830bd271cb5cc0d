import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { beginCounters } from '../../src/state/counters-file.ts';
import { sweepLeftovers } from '../../src/state/lock/sweep-leftovers.ts';
import { type LoopFiles, noticesOf, readCounters, readState } from '../../src/state/loop-files.ts';
import { withState } from '../../src/state/with-state.ts';
import { aState, filesIn, tallyOf } from '../support/faults/a-state.ts';
import { bundleProgram, scratch } from '../support/faults/bundle-state.ts';
import { type Past, type StressResult, stress, type Verdict } from '../support/faults/stress.ts';

/** RALPH_STRESS_KILLS=10000 is the long form, about 8 minutes on two cores. */
const KILLS = Number(process.env['RALPH_STRESS_KILLS'] ?? 24);
const PROCESSES = 6;
/** The state keeps a count for each process: after so many kills a fresh one begins. */
const KILLS_A_ROUND = 500;

const { directory, remove } = scratch('disk');
let updater: string;
let rounds = 0;

before(async () => {
  updater = await bundleProgram('updater', directory);
});
after(remove);

async function stressOver(
  way: string,
  kills: number,
  untilFailure = false,
): Promise<StressResult & { files: LoopFiles }> {
  rounds += 1;
  const project = join(directory, `round-${rounds}`);
  const files = filesIn(project);
  mkdirSync(files.runtimeDir, { recursive: true });
  beginCounters(files, aState());
  withState(files, () => ({ next: aState(), result: 0 }));
  const spawnUpdater = (name: string): ChildProcess =>
    spawn(process.execPath, [updater, project, name, way], { stdio: ['ignore', 'pipe', 'pipe'] });
  const evaluate = (past: Parameters<typeof evaluateTally>[1]) => evaluateTally(files, past);
  const acknowledged = (output: string): number => output.split('\n').length - 1;
  // Mostly within the next few updates, now and then after many.
  const kill = { after: () => Math.random() ** 2 * 40, from: 'output' } as const;
  const options = { processes: PROCESSES, kills, spawnUpdater, acknowledged, kill, evaluate, untilFailure };
  return { ...(await stress(options)), files };
}

for (const way of ['locked', 'without-links']) {
  const kills = way === 'locked' ? KILLS : Math.ceil(KILLS / 4);
  test(`Of six processes that are killed in updates (${way}), every acknowledged update exists, and no other.`, async (t) => {
    let acknowledged = 0;
    let killed = 0;
    while (killed < kills) {
      const result = await stressOver(way, Math.min(KILLS_A_ROUND, kills - killed));
      assert.deepEqual(result.failures, []);
      const { lost, phantom, corrupt } = result;
      assert.deepEqual({ lost, phantom, corrupt }, { lost: 0, phantom: 0, corrupt: 0 });
      assert.ok(result.acknowledged >= result.killed, 'the processes did work');
      acknowledged += result.acknowledged;
      killed += result.killed;
      assert.deepEqual(strangers(result.files), []);
      assert.deepEqual(noticesOf(result.files, 'loop-1'), [], 'no state seemed to have been put back');
      const counters = readCounters(result.files);
      assert.ok(counters !== null && counters.iteration >= result.acknowledged);
    }
    t.diagnostic(`${killed} kills, ${acknowledged} acknowledged updates`);
  });
}

/** What the killed left behind and the sweep does not take. The lock itself may be there: the next comer takes it. */
function strangers(files: LoopFiles): string[] {
  withState(files, () => ({ next: 'keep', result: 0 }), { waitMs: 10_000 });
  sweepLeftovers(files, Date.now() + 120_000);
  return readdirSync(files.runtimeDir).filter(
    (name) => !['ralph-state.json', 'ralph-state.json.lock.reap-'].includes(name),
  );
}

test('Control: the same stress test over updates without a lock loses updates.', async () => {
  let wrong = 0;
  for (let round = 0; round < 10 && wrong === 0; round++) {
    const { lost, phantom } = await stressOver('unlocked', 10);
    wrong = lost + phantom;
  }
  assert.ok(wrong > 0, 'the stress test did not see that updates were lost');
});

test('Control: the same stress test over writes in place leaves a torn state.', async () => {
  const { corrupt } = await stressOver('in-place', 5_000, true);
  assert.ok(corrupt > 0, 'the stress test did not see a torn state');
});

/** Every process has its own count in the state, so that each of its updates is known to be there or not. */
function evaluateTally(files: LoopFiles, past: readonly Past[]): Verdict {
  const met = past.filter(({ failure }) => failure?.includes('"kind":"corrupt"')).length;
  const read = readState(files.state);
  if (read.kind !== 'loop') return { lost: 0, phantom: 0, corrupt: met + 1 };
  const tally = tallyOf(read.state);
  let lost = 0;
  let phantom = 0;
  for (const { name, acknowledged } of past) {
    const there = tally[name] ?? 0;
    lost += Math.max(0, acknowledged - there);
    phantom += Math.max(0, there - acknowledged - 1);
  }
  const known = new Set(past.map(({ name }) => name));
  for (const [name, there] of Object.entries(tally)) if (!known.has(name)) phantom += there;
  const sum = Object.values(tally).reduce((total, there) => total + there, 0);
  if (sum !== read.state.iteration) phantom += Math.abs(sum - read.state.iteration);
  return { lost, phantom, corrupt: met };
}
