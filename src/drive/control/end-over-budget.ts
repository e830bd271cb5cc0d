import type { BudgetReading } from '../../engine/events.ts';
import { isFinishing } from '../../engine/initial-state.ts';
import { addUsage, readBudget } from '../../engine/policy/budget.ts';
import { timeSpent } from '../../engine/policy/loop-time.ts';
import type { Contract, Policy } from '../../engine/schema/contract.ts';
import type { LoopState, UsageState } from '../../engine/schema/state.ts';
import { transition } from '../../engine/transition.ts';
import { readSubagent } from '../../hosts/claude/transcript/subagent.ts';
import { readUsage } from '../../hosts/read-usage.ts';
import { writeRecord } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { awake } from '../../state/process/sleep-watch.ts';
import { withState } from '../../state/with-state.ts';
import { applyEffects } from '../records/apply-effects.ts';
import { usageNow } from '../records/client-figures.ts';
import { countedBy, projectionOf } from '../records/status-projection.ts';
import type { Cancellation } from './ownership.ts';
import { restoreMidTurn } from './restore-protected.ts';

interface Moment {
  readonly env: NodeJS.ProcessEnv;
  readonly at: string;
  /** Transcript of the session's client; null: the one that was last read. */
  readonly transcriptPath: string | null;
}

/**
 * Ends a session's loop whose budget is used up in the middle of an iteration, by its transcript and status line. The next
 * tool call of its agent is then denied and ends the turn. Returns the message for the user; null while budget is left.
 */
export function endOverBudget(
  files: LoopFiles,
  seen: LoopState,
  { policy }: Pick<Contract, 'policy'>,
  moment: Moment,
): string | null {
  const { at } = moment;
  // Most calls are within the budget, and need no lock to find out.
  if (reachedIn(files, seen, policy, moment) === null) return null;
  const done = withState(files, (current) => {
    if (current.kind !== 'loop' || current.state.loopId !== seen.loopId) return { next: 'keep', result: null };
    const reached = reachedIn(files, current.state, policy, moment);
    if (reached === null) return { next: 'keep', result: null };
    const over = { type: 'budget-reached', at, budget: reached.reading } as const;
    const { state, effects } = transition(reached.state, over, policy);
    const { loopId, sessionId } = state;
    const why = state.status === 'ended' && { why: state.ended.message };
    writeRecord(files.cancellation, { loopId, sessionId, ...why } satisfies Cancellation);
    return { next: state, result: { before: current.state, ended: state, effects } };
  });
  if (done === null) return null;
  restoreMidTurn(files, done.before, moment);
  // The iteration in progress is not counted, so only the one before may lack its record.
  projectionOf(files, at).lost(countedBy(done.before));
  applyEffects(files, at, done.effects);
  return done.ended.status === 'ended' ? done.ended.ended.message : null;
}

/** Returns the limit that a loop at work has reached, and its state with the usage so far; null if there is none. */
function reachedIn(
  files: LoopFiles,
  state: LoopState,
  { budget }: Policy,
  { at, transcriptPath }: Omit<Moment, 'env'>,
): { readonly reading: BudgetReading; readonly state: LoopState } | null {
  // A pause lets the agent finish its turn, but not spend without limit.
  if (state.status !== 'running' && !isFinishing(state)) return null;
  const reachedBy = (usage: UsageState): BudgetReading | undefined =>
    readBudget(usage, timeSpent(state, at), budget).find(({ used, limit }) => used >= limit);
  const known = usageNow(files, state);
  // Only a token limit needs to read the transcript, which may be long, at each call.
  if (budget.maxTokens === null && reachedBy(known) === undefined) return null;
  const { usage: tokens, marks } = readUsage(transcriptPath ?? state.marks.transcriptPath, state.marks);
  const usage = addUsage(known, tokens, null);
  const reading = reachedBy(usage);
  return reading === undefined ? null : { reading, state: { ...state, usage, marks } };
}

/** Returns the limit that a router's loop has reached while this subagent works; null if there is none. */
export function reachedBySubagent(
  state: LoopState,
  budget: Policy['budget'],
  at: string,
  { agentId, env }: { readonly agentId: string | null; readonly env: NodeJS.ProcessEnv },
): BudgetReading | null {
  const work = budget.maxTokens === null || agentId === null ? null : readSubagent(agentId, env);
  const usage = addUsage(state.usage, work?.usage ?? null, null);
  const spentMs = timeSpent(awake(state), at);
  return readBudget(usage, spentMs, budget).find(({ used, limit }) => used >= limit) ?? null;
}
