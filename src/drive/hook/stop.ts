import { setTimeout as sleep } from 'node:timers/promises';
import { adoptFourKeys, bindSession } from '../../engine/initial-state.ts';
import { untilTimeUp } from '../../engine/policy/loop-time.ts';
import {
  begunBy,
  begunByCommand,
  lastAssistantText,
  transcriptSize,
} from '../../hosts/claude/transcript/transcript.ts';
import type { HookInput } from '../../hosts/hook-io/hook-input.ts';
import type { HookAnswer } from '../../hosts/hook-io/stdio.ts';
import { lastWhere } from '../../state/event-stream.ts';
import { liveContract } from '../../state/evidence/live-contract.ts';
import { lossIn } from '../../state/evidence/lost.ts';
import { findContract, log, type ReadState, readContract, type StoredContract } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { watchSleep } from '../../state/process/sleep-watch.ts';
import { LOCK_WAIT, quarantine, withState } from '../../state/with-state.ts';
import { policyFromEnvironment } from '../../task/settings/from-environment.ts';
import { DEFAULT_TASK } from '../../task/task-file.ts';
import { after } from '../../text/time.ts';
import { clearCancellation, isCancelled } from '../control/cancellation.ts';
import { clientIdentity, type DriverContext, drivenElsewhere, launcherGone, ownership } from '../control/ownership.ts';
import { endTurn } from '../effects/end-turn.ts';
import { runEffects } from '../effects/run-effects.ts';
import { announceRestored } from '../effects/turn-notices.ts';
import { applyEffects } from '../records/apply-effects.ts';
import { lastRecord, recordJournal } from '../records/journal.ts';
import { HOOK_TEXTS, withPrefix } from '../turn/messages.ts';
import { noteSleep } from '../turn/note-sleep.ts';
import { isRewritten, restoreState } from '../turn/tampering.ts';
import type { Dispatched, Driver, Loaded, Turn } from '../turn/turn.ts';
import { dispatch, handleAbort, loadedUnder, newTurn, pauseForLoss } from '../turn/turn.ts';
import { type WaitEnd, waitUntil } from '../turn/wait.ts';
import { applyStopFlags } from './abort-stop.ts';
import { hookDriver } from './hook-driver.ts';

interface StopOptions {
  /** Timeout with which the hook is registered, in milliseconds; the hook cannot ask the client for it. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const MISSING = 'state.missing';

/** Margin before the client's own timeout would kill the hook. */
const ANSWER_MARGIN_MS = 20_000;

/** Decides one Stop. Throws disk errors; the caller then allows the stop. */
export async function stop(context: DriverContext, options: StopOptions): Promise<HookAnswer | null> {
  const deadline = Date.now() + Math.max(1_000, options.timeoutMs - ANSWER_MARGIN_MS);
  if (isCancelled(context)) {
    clearCancellation(context.files);
    return { systemMessage: withPrefix(HOOK_TEXTS.cancelledStop) };
  }
  const notes: string[] = [];
  const driver = hookDriver(notes, context.files);
  let endWatch = (): void => undefined;
  const open = (): OpenedTurn => {
    const opened = openTurn(context, options.signal, deadline);
    endWatch();
    if ('turn' in opened) endWatch = watchSleep((since) => void noteSleep(opened.turn, since));
    return opened;
  };
  try {
    return await decide(context, driver, open);
  } finally {
    endWatch();
  }
}

async function decide(
  context: DriverContext,
  driver: Driver<HookAnswer | null>,
  open: () => OpenedTurn,
): Promise<HookAnswer | null> {
  const waited = await waitForBackground(context.input, open, driver);
  if (waited !== 'decide') return waited.answer;
  // Ownership is decided under the lock; until then an unreadable contract is ignored.
  const found = findContract(context.files);
  const stored = typeof found === 'string' ? null : found;
  const cancelled = applyStopFlags(context, stored);
  if (cancelled !== null) return cancelled;
  const opened = open();
  if ('answer' in opened) return opened.answer ?? vanished(context, stored, opened.found);
  const { turn, effects } = launcherGone(context.env)
    ? dispatch(opened.turn, { type: 'interrupted', at: context.now(), by: 'client-exit' })
    : await endOfTurn(opened.turn, context);
  return runEffects(turn, driver, effects);
}

/** Reports once that the state file of this session's loop is missing. */
function vanished(context: DriverContext, stored: StoredContract | null, found: ReadState['kind']): HookAnswer | null {
  const { env, files, now } = context;
  const loopId = env['RALPH_LOOP_ID'];
  if (found !== 'absent' || loopId === undefined || stored?.contract.loopId !== loopId) return null;
  if (lastWhere(files, loopId, [MISSING, 'loop.'])?.['type'] === MISSING) return null;
  const event = { type: MISSING, at: now(), loopId, iteration: lastRecord(files, loopId)?.iteration ?? 0 };
  recordJournal(files, now(), [{ type: 'record-event', event }]);
  return { systemMessage: withPrefix(HOOK_TEXTS.vanished, { name: files.name, mode: 'hook' }) };
}

async function endOfTurn(turn: Turn, context: DriverContext): Promise<Dispatched> {
  const { lastMessage, transcriptPath, promptId, sessionId } = context.input;
  if (turn.loaded.lost !== null) return pauseForLoss(turn, turn.loaded.lost);
  return endTurn(turn, {
    text: lastMessage ?? lastAssistantText(transcriptPath),
    origin: await originOf(context, turn.loaded.state.promptId, turn.signal),
    promptId,
    sessionId,
    load: (current) => {
      const loop = loadLoop(current, context);
      return loop.kind === 'loop' ? loop.loaded : null;
    },
  });
}

/** Maximum wait for the start of a turn in the transcript; on a busy machine it appears 0.2 s after the Stop hook starts. */
const TRANSCRIPT_WAIT_MS = 500;
const POLL_MS = 25;

/** Returns who began the turn, from the transcript if the loop does not know the prompt; `loop` if it is not there either. */
async function originOf(
  { input: { promptId, transcriptPath } }: Pick<DriverContext, 'input'>,
  known: string | null,
  signal: AbortSignal,
): Promise<'user' | 'loop'> {
  if (promptId === null || known === null) return 'loop';
  if (known === promptId) return begunByCommand(transcriptPath, promptId) ? 'user' : 'loop';
  if (transcriptSize(transcriptPath) === null) return 'loop';
  for (let waited = 0; ; waited += POLL_MS) {
    const by = begunBy(transcriptPath, promptId);
    if (by !== null) return by;
    if (waited >= TRANSCRIPT_WAIT_MS || signal.aborted) return 'loop';
    await sleep(POLL_MS);
  }
}

/** Waits inside the hook for background work that will wake the session, at most `background_wait`. */
async function waitForBackground(
  { backgroundTasks: tasks, lastMessage }: Pick<HookInput, 'backgroundTasks' | 'lastMessage'>,
  open: () => OpenedTurn,
  driver: Driver<HookAnswer | null>,
): Promise<{ readonly answer: HookAnswer | null } | 'decide'> {
  const running = tasks.filter((task) => task.running);
  if (running.length === 0) return 'decide';
  const opened = open();
  if ('answer' in opened) return { answer: opened.answer };
  const { state, policy, lost } = opened.turn.loaded;
  if (lost !== null) return 'decide';
  const awaited = running.filter(({ id }) => !state.waitedOut.includes(id));
  const taskIds = awaited.map(({ id }) => id);
  if (taskIds.length === 0 || state.status === 'paused' || state.status === 'awaiting-consent') return 'decide';
  // The Stop decided after the wait finds a complete state, so a restored one is announced first.
  const turn = applyAndNotify(announceRestored(opened.turn), driver);
  const { deadline, signal, context } = turn;
  const { backgroundWait } = await import('../turn/background-wait.ts');
  const next = backgroundWait({
    projectDir: context.files.projectDir,
    env: context.env,
    policy,
    message: lastMessage ?? '',
    commands: awaited.map(({ command }) => command),
    tell: (text, waitMs) => recordWait(turn, text, waitMs),
  });
  let end: WaitEnd = 'elapsed';
  for (let ms = next(); ms !== null; ms = end === 'elapsed' ? next() : null) {
    const limit = untilTimeUp(turn.loaded.state, policy.budget, context.now(), after(context.now(), ms));
    const until = Date.parse(limit);
    end = await waitUntil(turn, { until, deadline, signal, state: turn.loaded.state, taskPath: null, tasks: taskIds });
  }
  const run = async ({ turn: after, effects }: Dispatched): Promise<{ readonly answer: HookAnswer | null }> => ({
    answer: await runEffects(after, driver, effects),
  });
  const at = turn.context.now();
  switch (end) {
    case 'aborted':
      return run(handleAbort(turn));
    case 'message':
      return run(dispatch(turn, { type: 'turn-released', at, why: 'message' }));
    case 'notification':
      return run(dispatch(turn, { type: 'turn-released', at, why: 'background' }));
    case 'elapsed':
    case 'deadline':
      applyEffects(turn.context.files, at, dispatch(turn, { type: 'waited-out', at, taskIds }).effects);
      return 'decide';
    case 'state-changed':
    case 'changed':
      return 'decide';
    default:
      return end satisfies never;
  }
}

/** Records for what the loop waits and how long, for those who follow it: a hook prints nothing while it waits. */
function recordWait({ context, loaded }: Turn, message: string, waitMs: number): void {
  const { files, now } = context;
  const { loopId, iteration } = loaded.state;
  const until = new Date(Date.now() + waitMs).toISOString();
  const event = { type: 'background.awaited', at: now(), loopId, iteration, until, message };
  recordJournal(files, now(), [{ type: 'record-event', event }]);
}

function applyAndNotify({ turn, effects }: Dispatched, driver: Driver<HookAnswer | null>): Turn {
  applyEffects(turn.context.files, turn.context.now(), effects);
  for (const effect of effects) if (effect.type === 'notify') driver.notify(turn, effect.message);
  return turn;
}

type OpenedTurn = { readonly turn: Turn } | { readonly answer: HookAnswer | null; readonly found: ReadState['kind'] };

/** Loads this session's own loop under the lock, with its state restored if necessary. */
export function openTurn(context: DriverContext, signal: AbortSignal, deadline: number): OpenedTurn {
  const { loop, found } = withState<{ loop: LoadedLoop; found: ReadState['kind'] }>(
    context.files,
    LOCK_WAIT,
    (current) => {
      const loop = loadLoop(current, context);
      return { next: loop.kind === 'loop' ? loop.loaded.state : 'keep', result: { loop, found: current.kind } };
    },
  );
  if (loop.kind === 'none') {
    return { answer: loop.message === null ? null : { systemMessage: withPrefix(loop.message) }, found };
  }
  const { transcriptPath } = context.input;
  return { turn: newTurn(context, loop.loaded, { transcriptPath, deadline, signal, freshContext: false }) };
}

type LoadedLoop =
  | { readonly kind: 'none'; readonly message: string | null }
  | { readonly kind: 'loop'; readonly loaded: Loaded };

/** Loads the loop of a Stop, under the lock. Throws RalphError `contract-changed` if its contract is unreadable. */
function loadLoop(current: ReadState, context: DriverContext): LoadedLoop {
  if (drivenElsewhere(context.env)) return { kind: 'none', message: null };
  switch (current.kind) {
    case 'absent':
      return { kind: 'none', message: null };
    case 'newer':
      return { kind: 'none', message: HOOK_TEXTS.newer(context.files.state, current.version) };
    case 'corrupt': {
      const moved = quarantine(context.files, context.now(), 'corrupt');
      return {
        kind: 'none',
        message: show(HOOK_TEXTS.corrupt(moved, current.problem), { name: context.files.name, mode: 'hook' }),
      };
    }
    case 'four-keys':
      return loadFourKeys(current, context);
    case 'loop':
      return loadOwn(current, context);
    default:
      return current satisfies never;
  }
}

function loadFourKeys(current: Extract<ReadState, { kind: 'four-keys' }>, context: DriverContext): LoadedLoop {
  const stored = readContract(context.files);
  if (stored !== null) return restored(stored, context, 0);
  if (context.env['RALPH_LOOP_ID']) return { kind: 'none', message: null }; // started for another loop
  const { policy, notes } = policyFromEnvironment(context.env, context.files.projectDir);
  for (const note of notes) log(context.files, context.now(), 'environment', note);
  const { name } = context.files;
  const adopted = adoptFourKeys(current.file, { name, taskPath: DEFAULT_TASK, maxIterations: policy.maxIterations });
  const state = bindSession(adopted, clientIdentity(context));
  return { kind: 'loop', loaded: { state, policy, stored: null, restored: null, lost: null } };
}

function loadOwn(current: Extract<ReadState, { kind: 'loop' }>, context: DriverContext): LoadedLoop {
  const { state, wentBack = null } = current;
  const owned = ownership(state, context);
  if (owned === 'foreign' || (owned === 'unbound' && context.env['RALPH_LOOP_ID']))
    return { kind: 'none', message: null };
  // An unbound loop with an unreadable contract cannot begin; the session it was started for reports that.
  if (owned === 'unbound' && findContract(context.files) === 'unreadable') return { kind: 'none', message: null };
  const bound = owned === 'unbound' ? bindSession(state, clientIdentity(context)) : state;
  let stored: StoredContract | null;
  try {
    stored = liveContract(context.files, state);
  } catch (error) {
    const { policy } = policyFromEnvironment(context.env, context.files.projectDir);
    return { kind: 'loop', loaded: { state: bound, policy, stored: null, restored: wentBack, lost: lossIn(error) } };
  }
  if (stored !== null && isRewritten(state, stored, context.files)) return restored(stored, context, state.epoch);
  const policy = stored?.contract.policy ?? policyFromEnvironment(context.env, context.files.projectDir).policy;
  return { kind: 'loop', loaded: { state: bound, policy, stored, restored: wentBack, lost: null } };
}

function restored(stored: StoredContract, context: DriverContext, epoch: number): LoadedLoop {
  const wanted = context.env['RALPH_LOOP_ID'];
  if (wanted && wanted !== stored.contract.loopId) return { kind: 'none', message: null };
  const moved = quarantine(context.files, context.now(), 'tampered');
  const state = restoreState(context.files, stored, clientIdentity(context), context.now(), epoch);
  const warning = HOOK_TEXTS.restored(moved, state.iteration);
  return { kind: 'loop', loaded: loadedUnder(stored, state, warning) };
}
