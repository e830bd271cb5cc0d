import { clientVersion, readUsage } from '../../claude/transcript/transcript.ts';
import type { Effect, EngineEvent, EventOf } from '../../engine/events.ts';
import type { ChecklistStand } from '../../engine/identity/checklist-stand.ts';
import { outOfTime } from '../../engine/policy/budget.ts';
import type { AgentRecord } from '../../engine/schema/records.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { transition } from '../../engine/transition.ts';
import { requireEvidence } from '../../state/evidence/evidence.ts';
import { liveContract } from '../../state/evidence/live-contract.ts';
import { lossIn } from '../../state/evidence/lost.ts';
import type { LoopFiles, ReadState } from '../../state/loop-files.ts';
import { ownStart } from '../../state/process/identity.ts';
import { show } from '../../state/process/program.ts';
import { looksUnchanged } from '../../state/snapshot/look.ts';
import { withState } from '../../state/with-state.ts';
import { hasTaskFolder } from '../../task/task-file.ts';
import { digest } from '../../text/digest.ts';
import type { Message } from '../../text/message.ts';
import { atLeast } from '../../text/version.ts';
import type { ProtectionReport } from '../control/restore-protected.ts';
import { idleFingerprint, measuredFor, measureIteration } from '../prompt/gather-evidence.ts';
import { checklistWarnings, observeChecklist } from '../prompt/loop-checklist.ts';
import { readTask, type TaskText } from '../prompt/read-task.ts';
import { rememberOpenEntries } from '../prompt/seen-record.ts';
import { readCalls, readCost } from '../records/client-figures.ts';
import type { Measured } from '../records/iteration-record.ts';
import { enqueue, recordJournal } from '../records/journal.ts';
import { readPromptedTurn } from '../records/prompted-turn.ts';
import { tddFacts } from '../tdd/scenario-list.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import {
  type Dispatched,
  dispatch,
  isStep,
  type Loaded,
  lockOptions,
  pauseForLoss,
  type Turn,
  underContract,
} from '../turn/turn.ts';

type IterationEnded = Extract<EngineEvent, { type: 'iteration-ended' }>;

/** A driver's facts about the agent's turn that has ended. */
interface TurnReport {
  readonly text: string;
  readonly origin: 'loop' | 'user';
  readonly promptId: string | null;
  /** Session whose cost its status line has stored. */
  readonly sessionId: string;
  /** Facts of a driver that followed the agent itself, used instead of the client's files. */
  readonly run?: Pick<IterationEnded, 'usage' | 'costUsd' | 'error' | 'transcriptMark'> &
    Partial<Pick<IterationEnded, 'timedOut' | 'callsUnknown'>>;
  readonly agent?: AgentRecord;
  /** Returns whether this very report was already counted. */
  readonly isCounted?: (state: LoopState) => boolean;
  /** Loads the loop under the lock. Default: this loop, whatever was written into its state. */
  readonly load?: (current: ReadState) => Loaded | null;
}

/** Ends a turn: measures what it changed and dispatches `iteration-ended` under the lock. */
export async function endTurn(turn: Turn, report: TurnReport): Promise<Dispatched> {
  const { context, loaded, signal } = turn;
  const { files, env, now } = context;
  const contract = loaded.stored?.contract;
  const measured =
    contract && hasTaskFolder(contract) ? await measureIteration(files, contract, { env, signal }) : null;
  const restoredAtEnd = await restoreAtEnd(turn);
  const { found } = restoredAtEnd;
  let { lost } = restoredAtEnd;
  const fingerprints = await takeFingerprints(turn, report.text);
  const result = withState<Dispatched>(files, lockOptions(turn), (current) => {
    const standing = report.load ? report.load(current) : sameLoop(turn, current);
    if (standing === null || report.isCounted?.(standing.state)) return { next: 'keep', result: { turn, effects: [] } };
    const restored = loaded.restored ?? standing.restored;
    const facts = { measured, found, ...fingerprints };
    const observed = observe(files, standing);
    lost ??= observed.lost;
    const ended = countTurn({ ...turn, loaded: { ...standing, restored } }, report, { ...facts, ...observed });
    const { state } = ended.turn.loaded;
    // If a runner is killed before it has written its journals, the next one delivers them.
    if (state.mode === 'runner') enqueue(files, now(), ended.effects);
    return { next: state, result: ended };
  });
  if (lost !== null) return afterLoss(result, lost);
  const { loopId, iteration, mode } = loaded.state;
  const isCounted = result.effects.some(({ type }) => type === 'record-iteration');
  // A runner has followed its agent itself.
  if (isCounted && mode !== 'runner' && report.text !== '') {
    const event = { type: 'agent.text', at: now(), loopId, iteration, text: report.text };
    recordJournal(files, now(), [{ type: 'record-event', event }]);
  }
  return result;
}

function sameLoop({ loaded, context }: Turn, current: ReadState): Loaded | null {
  if (current.kind !== 'loop' || current.state.loopId !== loaded.state.loopId) return null;
  const standing = underContract(loaded, current.state, context.files);
  return { ...standing, restored: standing.restored ?? current.wentBack ?? null };
}

interface Facts extends Pick<IterationEnded, 'seen' | 'projectMark'> {
  readonly measured: Measured | null;
  /** Protected files that differed at the end of the turn. */
  readonly found: ProtectionReport | null;
  readonly task: TaskText | null;
  readonly checklist: ChecklistStand | null;
  readonly scenarios: ReturnType<typeof tddFacts>;
}

/** Reads the task and remembers what it shows as open. `lost` says which evidence is lost. Called under the lock. */
function observe(
  files: LoopFiles,
  { stored, state, lost }: Loaded,
): Pick<Facts, 'task' | 'checklist' | 'scenarios'> & { readonly lost: Message | null } {
  if (stored === null) return { task: null, checklist: null, scenarios: {}, lost };
  const { contract } = stored;
  const task = readTask(files.projectDir, contract.taskPath);
  try {
    liveContract(files, state);
    requireEvidence(files, contract);
    rememberOpenEntries(files, contract);
    const scenarios = tddFacts(files, contract);
    return { task, checklist: task && observeChecklist(files, contract, task), scenarios, lost };
  } catch (error) {
    return { task, checklist: null, scenarios: {}, lost: lossIn(error) };
  }
}

/** Restores changed protected files that no look after a call has seen. `lost` says which evidence is lost. */
async function restoreAtEnd(
  turn: Turn,
): Promise<{ readonly found: ProtectionReport | null; readonly lost: Message | null }> {
  const { files } = turn.context;
  if (turn.loaded.stored === null || looksUnchanged(`${files.snapshot}.look`, 'all') === true)
    return { found: null, lost: null };
  try {
    return { found: (await import('../control/examine-protected.ts')).examineAll(turn, 'turn'), lost: null };
  } catch (error) {
    return { found: null, lost: lossIn(error) };
  }
}

/** Pauses a loop whose iteration was counted: its claim is not verified, and no prompt follows. */
function afterLoss({ turn, effects }: Dispatched, lost: Message): Dispatched {
  if (turn.loaded.state.status === 'ended') return { turn, effects };
  const paused = pauseForLoss(turn, lost);
  return { turn: paused.turn, effects: [...effects.filter((effect) => !isStep(effect)), ...paused.effects] };
}

/** Dispatches what the user must know first, then the end of the turn. Called under the lock. */
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
  });
  const decided = transition(state, event, policy);
  const agent = report.agent ?? sessionsAgent(state, decided.state, event.usage);
  const all = [...effects, ...decided.effects].map((effect) => withAgent(effect, agent));
  const next = (after: LoopState): Loaded => ({ ...loaded, state: after, restored: null });
  if (decided.effects.some(({ type }) => type === 'ignore')) {
    return { turn: { ...turn, loaded: next(state), task: null }, effects: all };
  }
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
  if (task !== null && task.frontmatter !== stored.contract.frontmatter) {
    add(`frontmatter ${digest(task.frontmatter)}`, HOOK_TEXTS.frontmatterChanged(state.taskPath));
  }
  for (const warning of checklist === null ? [] : checklistWarnings(state.taskPath, checklist))
    add(`checklist ${digest(show(warning))}`, warning);
  return events;
}

/** Announces a restored state before anything is decided. */
export function announceRestored(turn: Turn): Dispatched {
  const { restored } = turn.loaded;
  if (restored === null) return { turn, effects: [] };
  const at = turn.context.now();
  const { turn: after, effects } = dispatch(turn, { type: 'noticed', at, key: `restored ${at}`, warning: restored });
  return { turn: { ...after, loaded: { ...after.loaded, restored: null } }, effects };
}

/** Takes the fingerprints that idle detection and the circuit breaker need; null for those not needed. */
async function takeFingerprints(
  { context, loaded: { stored, state } }: Turn,
  text: string,
): Promise<Pick<IterationEnded, 'seen' | 'projectMark'>> {
  const policy = stored?.contract.policy;
  const { files } = context;
  const { projectDir } = files;
  const watch = policy?.idle?.wake === 'change' && text.includes('ralph:state') ? policy.idle.watch : null;
  const marksProject = (policy?.breaker.noProgress ?? 0) > 0;
  const prompted = watch === null ? null : readPromptedTurn(files, state.loopId);
  const shown = prompted?.iteration === state.iteration + 1 ? prompted.evidence : null;
  const seenIf = (watched: string | null): string | null => idleFingerprint(watched, stored?.contract, shown);
  if (watch === null && !marksProject) return { seen: seenIf(null), projectMark: null };
  const { projectFingerprint, watchFingerprint } = await import('../../task/progress/fingerprint.ts');
  return {
    seen: seenIf(watch && watchFingerprint(projectDir, watch, stored?.contract.taskPath ?? '')),
    projectMark: marksProject ? projectFingerprint(projectDir) : null,
  };
}

/** Size limit of a final message, which usually has a few kilobytes; signals are at its end. */
const MESSAGE_LIMIT = 1_000_000;
/** First client that is known to report a failed call; in an earlier one a failure would look like a denial. */
const REPORTS_FAILURES = '2.1.330';

/** Assembles the event, and the positions up to which journals and transcript were read for it. */
function iterationEnded(
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
  return {
    marks: { ...marks, callsBytes },
    event: {
      scenario: null,
      progress: compareMarks(state.projectMark, facts.projectMark),
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

function compareMarks(before: string | null, after: string | null): IterationEnded['progress'] {
  return before === null || after === null ? 'unknown' : before === after ? 'no' : 'yes';
}

/**
 * Returns the same mark for a Stop that is delivered twice (a hook registered in two places), and a different one for every
 * other Stop. The client starts both hooks at once and continues when both have answered, so a hook that was started before
 * the last decision belongs to the decided Stop. The transcript is written too late to tell.
 */
function deliveryMark({ lastTurn, lastDecision }: LoopState): string {
  const startedAt = ownStart();
  if (lastTurn && startedAt < Date.parse(lastDecision?.at ?? '')) return lastTurn.transcriptMark;
  return String(startedAt);
}
