import { readUsage } from '../../claude/transcript/usage.ts';
import type { EngineEvent } from '../../engine/events.ts';
import { outOfTime } from '../../engine/policy/budget.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { StoredContract } from '../../state/contract-store.ts';
import { ownStart } from '../../state/process/identity.ts';
import type { ChecklistCount } from '../../text/markdown/checklist.ts';
import { atLeast } from '../../text/version.ts';
import { readCalls, readCost } from '../records/client-figures.ts';
import type { DriverContext } from './driver-context.ts';

/** A final message is a few kilobytes; signals stand at its end. */
const MESSAGE_LIMIT = 1_000_000;
/** The first client that was measured to report a failed call: before it, a failure would look like a denial. */
const REPORTS_FAILURES = '2.1.330';

/** What the caller has found out about the turn, each by its own way. */
export interface TurnFacts {
  /** The agent's final message. */
  readonly text: string;
  readonly origin: 'loop' | 'user';
  /** Of a task folder's prompt, and of a checklist. */
  readonly reflected?: boolean;
  readonly checklist?: ChecklistCount;
  readonly seen: string | null;
  readonly projectMark: string | null;
  /** What a task folder's snapshots tell; without them the project's mark does. */
  readonly progress?: 'yes' | 'no' | 'unknown';
  /** What a TDD list says: the scenario at work, and whether all of them are complete. */
  readonly scenario?: string | null;
  readonly taskDone?: boolean;
  /** What a driver knows that has heard the agent itself, in place of what the client's files say. */
  readonly heard?: Pick<
    Gathered['event'],
    'usage' | 'costUsd' | 'error' | 'timedOut' | 'transcriptMark' | 'callsUnknown'
  >;
}

export interface Gathered {
  readonly event: Extract<EngineEvent, { type: 'iteration-ended' }>;
  /** How far journals and transcript have been read for this event. */
  readonly marks: LoopState['marks'];
}

/** Everything the engine wants to know of the turn that just ended. Called under the lock, so that marks are never stale. */
export function gatherIteration(
  context: DriverContext,
  state: LoopState,
  stored: StoredContract | null,
  facts: TurnFacts,
): Gathered {
  const { files, input } = context;
  const failuresKnown = atLeast(stored?.contract.clientVersion ?? null, REPORTS_FAILURES);
  const { next: callsBytes, ...calls } = readCalls(files, state.loopId, state.marks.callsBytes, failuresKnown);
  const { usage, marks } = readUsage(input.transcriptPath, state.marks);
  const { heard, ...said } = facts;
  const { projectMark } = facts;
  const at = context.now();
  return {
    marks: { ...marks, callsBytes },
    event: {
      scenario: null,
      ...said,
      ...calls,
      type: 'iteration-ended',
      at,
      text: facts.text.slice(-MESSAGE_LIMIT),
      promptId: input.promptId,
      transcriptMark: deliveryMark(state),
      usage,
      costUsd: readCost(files, input.sessionId),
      progress: facts.progress ?? compared(state.projectMark, projectMark),
      error: null,
      timedOut: outOfTime(state, stored?.contract.policy.pace.iterationTimeoutMs ?? null, at),
      ...heard,
    },
  };
}

function compared(before: string | null, after: string | null): 'yes' | 'no' | 'unknown' {
  return before === null || after === null ? 'unknown' : before === after ? 'no' : 'yes';
}

/**
 * The same for a Stop that is delivered twice (a hook registered in two places), another one for every other Stop. The
 * client starts both hooks at once and goes on when both have answered: a hook that was started before the last
 * decision belongs to the Stop that was decided. The transcript is no witness, since it is written late.
 */
function deliveryMark({ lastTurn, lastDecision }: LoopState): string {
  const startedAt = ownStart();
  if (lastTurn && startedAt < Date.parse(lastDecision?.at ?? '')) return lastTurn.transcriptMark;
  return String(startedAt);
}
