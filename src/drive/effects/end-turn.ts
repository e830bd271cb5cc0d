import type { Effect, EngineEvent, EventOf } from '../../engine/events.ts';
import type { ChecklistStand } from '../../engine/identity/items.ts';
import type { AgentRecord } from '../../engine/schema/records.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { transition } from '../../engine/transition.ts';
import { show } from '../../state/process/program.ts';
import { hasTaskFolder } from '../../task/task-file.ts';
import { digest } from '../../text/digest.ts';
import type { Message } from '../../text/message.ts';
import type { ProtectionReport } from '../control/restore-protected.ts';
import { measuredFor, measureIteration } from '../prompt/gather-evidence.ts';
import { checklistWarnings } from '../prompt/loop-checklist.ts';
import type { TaskText } from '../prompt/read-task.ts';
import { enqueue, recordEvent } from '../records/journal.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import type { Dispatched, Loaded, Turn } from '../turn/turn.ts';
import { isStep, pauseForLoss, sameLoop, withTurnState } from '../turn/turn.ts';
import { iterationEnded, type TurnReport } from './iteration-event.ts';
import { type Facts, hasChecks, observe, restoreAtEnd, takeFingerprints } from './observe-turn.ts';

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

/** Returns notices about changed protected files, for the user and the next prompt. */
export function protectionNotices(found: ProtectionReport | null): EventOf<'noticed'>[] {
  return (found?.toUser ?? []).map((warning, index) => {
    return { type: 'noticed', at: found?.id ?? '', key: `protected ${found?.id} ${index}`, warning };
  });
}

/** Returns what the user must know before the end of the turn is decided. */
function notices(
  { context, loaded: { state, stored, restored } }: Turn,
  task: TaskText | null,
  checklist: ChecklistStand | null,
): EngineEvent[] {
  const at = context.now();
  const events: EngineEvent[] = [];
  const add = (key: string, warning: Message | string): void => void events.push({ type: 'noticed', at, key, warning });
  if (restored !== null) add(`restored ${at}`, restored);
  if (stored === null) return events;
  if (task !== null && task.frontmatter !== stored.contract.frontmatter)
    add(`frontmatter ${digest(task.frontmatter)}`, HOOK_TEXTS.frontmatterChanged(state.taskPath));
  for (const warning of checklist === null ? [] : checklistWarnings(state.taskPath, checklist))
    add(`checklist ${digest(show(warning))}`, warning);
  return events;
}
