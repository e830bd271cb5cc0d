import { NO_FACTS } from '../../claude/agent/agent-message.ts';
import type { AgentOptions } from '../../claude/agent/agent-run.ts';
import { tokens } from '../../engine/events.ts';
import { addRunUsage, exactCost, type RunUsage } from '../../engine/policy/budget.ts';
import type { AgentRecord } from '../../engine/schema/records.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { amendArchived } from '../../state/archive.ts';
import { log } from '../../state/log.ts';
import { withState } from '../../state/with-state.ts';
import { RalphError } from '../../text/message.ts';
import { lockOptions, type Turn } from '../turn/turn.ts';
import { now, type Runner } from './runner.ts';

type Used = Parameters<NonNullable<AgentOptions['onUsage']>>[0];
type Counts = NonNullable<Used['usage']>;

const NOTHING = tokens(() => 0);

/** Returns a function that adds an agent's usage while it runs, or returns why that could not be written. */
export function countUsage(runner: Runner, turn: Turn): (used: Used) => Error | null {
  let counted = { usage: NOTHING, costUsd: 0, unpriced: 0, windows: NO_FACTS.windows };
  return ({ usage, costUsd, windows }) => {
    if (usage === null) return null;
    const unpriced = costUsd === null ? 1 : 0;
    const part: RunUsage = {
      usage: minus(usage, counted.usage),
      costUsd: costUsd === null ? null : costUsd - counted.costUsd,
      unpriced: (unpriced - counted.unpriced) as RunUsage['unpriced'],
    };
    const isNews = part.unpriced !== 0 || part.costUsd || Object.values(part.usage).some((more) => more !== 0);
    if (!isNews && windows === counted.windows) return null;
    try {
      // An agent can rewrite the state, which is restored when its turn is over.
      if (!add(runner, turn, part, windows)) return null;
    } catch (error) {
      // Another runner has taken over the loop.
      if (error instanceof RalphError && error.code === 'state-fenced') return null;
      log(runner.files, now(), 'runner', (error as Error).message);
      return error as Error;
    }
    counted = { usage, costUsd: costUsd ?? counted.costUsd, unpriced, windows };
    return null;
  };
}

function add({ files, loopId, spent }: Runner, turn: Turn, part: RunUsage, windows: Used['windows']): boolean {
  const withPart = (state: LoopState): LoopState => {
    spent.total = addRunUsage(state.usage, part);
    return { ...state, usage: spent.total, ...(windows.length > 0 && { limits: [...windows] }) };
  };
  return withState<boolean>(files, lockOptions(turn), (current) => {
    if (current.kind === 'loop' && current.state.loopId === loopId) {
      return { next: withPart(current.state), result: true };
    }
    return { next: 'keep', result: amendArchived(files, loopId, withPart) };
  });
}

/** Returns what the agents of an iteration used, failed runs included, and begins the next one. null is unknown. */
export function takeIteration({ spent }: Runner): Pick<AgentRecord, 'usage' | 'costUsd' | 'durationMs'> {
  const { total, before, durationMs } = spent;
  spent.before = total;
  spent.durationMs = 0;
  if (total === before) return { usage: null, costUsd: null, durationMs };
  const priced = (total.unpricedRuns ?? 0) <= (before.unpricedRuns ?? 0) && total.costUsd !== null;
  const costUsd = priced ? exactCost((total.costUsd ?? 0) - (before.costUsd ?? 0)) : null;
  return { usage: minus(total, before), costUsd, durationMs };
}

function minus(one: Counts, other: Counts): Counts {
  return tokens((kind) => one[kind] - other[kind]);
}
