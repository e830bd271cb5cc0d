import type { Effect, EventOf } from '../../engine/events.ts';
import { outOfTime } from '../../engine/policy/iteration-time.ts';
import type { AgentRecord } from '../../engine/schema/records.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { transition } from '../../engine/transition.ts';
import { clientVersion } from '../../hosts/claude/transcript/transcript.ts';
import { readUsage } from '../../hosts/read-usage.ts';
import type { ReadState } from '../../state/loop-files.ts';
import { ownStart } from '../../state/process/identity.ts';
import { hasTaskFolder } from '../../task/task-file.ts';
import type { Message } from '../../text/message.ts';
import { atLeast } from '../../text/version.ts';
import { measuredFor, measureIteration } from '../prompt/gather-evidence.ts';
import { readCalls, readCost } from '../records/client-figures.ts';
import { enqueue, recordEvent } from '../records/journal.ts';
import type { Dispatched, Loaded, Turn } from '../turn/turn.ts';
import { isStep, pauseForLoss, sameLoop, withTurnState } from '../turn/turn.ts';
import {
  type Facts,
  hasChecks,
  notices,
  observe,
  protectionNotices,
  restoreAtEnd,
  takeFingerprints,
} from './observe-turn.ts';

/** A driver's facts about the agent's turn that has ended. */
interface TurnReport {
  readonly text: string;
  readonly origin: 'loop' | 'user';
  readonly promptId: string | null;
  /** Session whose cost is stored by its status line. */
  readonly sessionId: string;
  /** Facts from a driver that followed the agent itself, used instead of the client's files. */
  readonly run?: Pick<EventOf<'iteration-ended'>, 'usage' | 'costUsd' | 'error' | 'transcriptMark'> &
    Partial<Pick<EventOf<'iteration-ended'>, 'timedOut' | 'callsUnknown'>>;
  readonly agent?: AgentRecord;
  /** Returns whether exactly this report was already counted. */
  readonly isCounted?: (state: LoopState) => boolean;
  /** Loads the loop under the lock. Default: this loop, whatever its state file says. */
  readonly load?: (current: ReadState) => Loaded | null;
}

/** Ends a turn: measures what it changed and dispatches `iteration-ended` under the lock. */
export async function endTurn(turn: Turn, report: TurnReport): Promise<Dispatched> {
  const { context, loaded } = turn;
  const { files, env, now } = context;
  const contract = loaded.stored?.contract;
  const measured =
    contract && hasTaskFolder(contract)
      ? await measureIteration(files, contract, { env, signal: turn.signal() })
      : null;
  const restoredAtEnd = await restoreAtEnd(turn);
  const { found } = restoredAtEnd;
  let { lost } = restoredAtEnd;
  const fingerprints = await takeFingerprints(turn, report.text);
  const result = withTurnState<Dispatched>(turn, (current) => {
    const standing = report.load ? report.load(current) : sameLoop(turn, current);
    if (standing === null || report.isCounted?.(standing.state)) return { next: 'keep', result: { turn, effects: [] } };
    const restored = loaded.restored ?? standing.restored;
    const facts = { measured, found, ...fingerprints };
    const isLive = report.load !== undefined && standing.restored === null;
    const observed = observe(files, standing, isLive);
    lost ??= observed.lost;
    const ended = countTurn({ ...turn, loaded: { ...standing, restored } }, report, { ...facts, ...observed });
    const { state } = ended.turn.loaded;
    // If a runner is killed before it has written its journals, the next runner delivers them.
    if (state.mode === 'runner') enqueue(files, now(), ended.effects);
    return { next: state, result: ended };
  });
  if (lost !== null) return afterLoss(result, lost);
  const { loopId, iteration, mode } = loaded.state;
  const isCounted = result.effects.some(({ type }) => type === 'record-iteration');
  // A runner followed its agent itself.
  if (isCounted && mode !== 'runner' && report.text !== '') {
    const event = { type: 'agent.text', at: now(), loopId, iteration, text: report.text };
    recordEvent(files, now(), event);
  }
  return result;
}

/** Pauses a loop whose iteration was counted: its claim is not verified, and no prompt follows. */
function afterLoss({ turn, effects }: Dispatched, lost: Message): Dispatched {
  if (turn.loaded.state.status === 'ended') return { turn, effects };
  const paused = pauseForLoss(turn, lost);
  return { turn: paused.turn, effects: [...effects.filter((effect) => !isStep(effect)), ...paused.effects] };
}

/** Dispatches what the user must know first, then the end of the turn. The caller holds the lock. */
function countTurn(
  turn: Turn,
  report: TurnReport,
  { measured, found, task, checklist, scenarios, ...fingerprints }: Facts,
): Dispatched {
  const { loaded } = turn;
  const { policy, stored } = loaded;
  const effects: Effect[] = [];
  let { state } = loaded;
  for (const event of [...notices(turn, task, checklist), ...protectionNotices(found)]) {
    const noticed = transition(state, event, policy);
    state = noticed.state;
    effects.push(...noticed.effects);
  }
  const own = measured === null ? null : measuredFor(measured, state.iteration + 1);
  const { event, marks } = iterationEnded(turn, state, report, {
    ...fingerprints,
    ...scenarios,
    ...(own && { progress: own.progress }),
    ...(own?.turn?.reflected && { reflected: true }),
    ...(checklist && { checklist }),
    ...(hasChecks(stored?.contract) && { hasChecks: true }),
  });
  const decided = transition(state, event, policy);
  const agent = report.agent ?? sessionsAgent(state, decided.state, event.usage);
  const all = [...effects, ...decided.effects].map((effect) => withAgent(effect, agent));
  const next = (after: LoopState): Loaded => ({ ...loaded, state: after, restored: null });
  if (decided.effects.some(({ type }) => type === 'ignore'))
    return { turn: { ...turn, loaded: next(state), task: null }, effects: all };
  const ended = { measured: own, ended: event, record: null, gate: null, waited: false, agent: report.agent };
  return {
    turn: {
      ...turn,
      loaded: next({ ...decided.state, marks }),
      task: own && stored && { ...ended, measured: own, contract: stored.contract },
    },
    effects: all,
  };
}

/** Size limit of a final message, which usually has a few kilobytes; signals are at its end. */
const MESSAGE_LIMIT = 1_000_000;
/** First client known to report a failed call; with an earlier one, a failure would look like a denial. */
const REPORTS_FAILURES = '2.1.330';

/** Assembles the event, and the positions up to which journals and transcript were read for it. */
function iterationEnded(
  { context, loaded: { stored }, transcriptPath }: Turn,
  state: LoopState,
  { text, origin, promptId, sessionId, run }: TurnReport,
  facts: Pick<EventOf<'iteration-ended'>, 'seen' | 'projectMark'> & Partial<EventOf<'iteration-ended'>>,
): { readonly event: EventOf<'iteration-ended'>; readonly marks: LoopState['marks'] } {
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

function withAgent(effect: Effect, agent: Omit<AgentRecord, 'durationMs'> | null): Effect {
  if (agent === null || effect.type !== 'record-iteration') return effect;
  const { record } = effect;
  const outputTokens = agent.usage?.outputTokens ?? null;
  return { ...effect, record: { ...record, outputTokens, agent: { durationMs: record.durationMs, ...agent } } };
}

/** Returns the figures of an iteration in a session, whose client reports the cost of the whole session later; null if unknown. */
function sessionsAgent(
  before: LoopState,
  after: LoopState,
  usage: AgentRecord['usage'],
): Omit<AgentRecord, 'durationMs'> | null {
  const known = before.usage.costUsd ?? (before.iteration === 0 ? 0 : null);
  const total = after.usage.costUsd;
  const costUsd = known === null || total === null || total === known ? null : Number((total - known).toFixed(6));
  return usage === null && costUsd === null ? null : { model: null, turns: null, costUsd, usage };
}
