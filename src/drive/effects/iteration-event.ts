import type { EngineEvent } from '../../engine/events.ts';
import { outOfTime } from '../../engine/policy/iteration-time.ts';
import type { AgentRecord } from '../../engine/schema/records.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { clientVersion } from '../../hosts/claude/transcript/transcript.ts';
import { readUsage } from '../../hosts/read-usage.ts';
import type { ReadState } from '../../state/loop-files.ts';
import { ownStart } from '../../state/process/identity.ts';
import { atLeast } from '../../text/version.ts';
import { readCalls, readCost } from '../records/client-figures.ts';
import type { Loaded, Turn } from '../turn/turn.ts';

export type IterationEnded = Extract<EngineEvent, { type: 'iteration-ended' }>;

/** A driver's facts about the agent's turn that has ended. */
export interface TurnReport {
  readonly text: string;
  readonly origin: 'loop' | 'user';
  readonly promptId: string | null;
  /** Session whose cost is stored by its status line. */
  readonly sessionId: string;
  /** Facts from a driver that followed the agent itself, used instead of the client's files. */
  readonly run?: Pick<IterationEnded, 'usage' | 'costUsd' | 'error' | 'transcriptMark'> &
    Partial<Pick<IterationEnded, 'timedOut' | 'callsUnknown'>>;
  readonly agent?: AgentRecord;
  /** Returns whether exactly this report was already counted. */
  readonly isCounted?: (state: LoopState) => boolean;
  /** Loads the loop under the lock. Default: this loop, whatever its state file says. */
  readonly load?: (current: ReadState) => Loaded | null;
}

/** Size limit of a final message, which usually has a few kilobytes; signals are at its end. */
const MESSAGE_LIMIT = 1_000_000;
/** First client known to report a failed call; with an earlier one, a failure would look like a denial. */
const REPORTS_FAILURES = '2.1.330';

/** Assembles the event, and the positions up to which journals and transcript were read for it. */
export function iterationEnded(
  { context, loaded: { stored }, transcriptPath }: Turn,
  state: LoopState,
  { text, origin, promptId, sessionId, run }: TurnReport,
  facts: Pick<IterationEnded, 'seen' | 'projectMark'> & Partial<IterationEnded>,
): { readonly event: IterationEnded; readonly marks: LoopState['marks'] } {
  const { files, now } = context;
  const failuresKnown = atLeast(stored?.contract.clientVersion ?? clientVersion(transcriptPath), REPORTS_FAILURES);
  const { next: callsBytes, ...calls } = readCalls(files, state.loopId, state.marks.callsBytes, failuresKnown);
  const { usage, marks } = readUsage(transcriptPath, state.marks);
  const at = now();
  const [before, after] = [state.projectMark, facts.projectMark];
  return {
    marks: { ...marks, callsBytes },
    event: {
      scenario: null,
      progress: before === null || after === null ? 'unknown' : before === after ? 'no' : 'yes',
      ...facts,
      ...calls,
      type: 'iteration-ended',
      at,
      text: text.slice(-MESSAGE_LIMIT),
      origin,
      promptId,
      usage,
      error: null,
      transcriptMark: deliveryMark(state),
      costUsd: run ? run.costUsd : readCost(files, sessionId),
      timedOut: !run?.error && outOfTime(state, stored?.contract.policy.pace.iterationTimeoutMs ?? null, at),
      ...run,
    },
  };
}

/**
 * Returns the same mark for a Stop that is delivered twice (by a hook registered in two places), and a different one for
 * every other Stop. The client starts both hooks at once and continues when both have answered, so a hook started before the
 * last decision belongs to the decided Stop, unless the clock was set back since. The transcript is written too late to tell.
 */
function deliveryMark({ lastTurn, lastDecision }: LoopState): string {
  const startedAt = ownStart();
  const decidedAt = Date.parse(lastDecision?.at ?? '');
  if (lastTurn && startedAt < decidedAt && decidedAt <= Date.now()) return lastTurn.transcriptMark;
  return String(startedAt);
}
