import { type LoopFiles, readState } from '../../../src/state/loop-files.ts';
import { tallyOf } from './a-state.ts';
import type { Past, Verdict } from './stress.ts';

/** Every process has its own count in the state, so that each of its updates is known to be there or not. */
export function evaluateTally(files: LoopFiles, past: readonly Past[]): Verdict {
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

/** For updates without a name of their own, such as Stops of a hook: there are no fewer than acknowledged, no more than begun. */
export function evaluateCount(files: LoopFiles, past: readonly Past[]): Verdict {
  const read = readState(files.state);
  if (read.kind !== 'loop') return { lost: 0, phantom: 0, corrupt: 1 };
  const { iteration } = read.state;
  const acknowledged = past.reduce((sum, one) => sum + one.acknowledged, 0);
  return { lost: Math.max(0, acknowledged - iteration), phantom: Math.max(0, iteration - past.length), corrupt: 0 };
}
