import { clientVersion } from '../../claude/transcript.ts';
import { assemblePrompt } from '../../core/assemble-prompt.ts';
import { deliverPrompt } from '../../core/deliver-prompt.ts';
import type { Effect } from '../../core/effects.ts';
import type { EngineEvent } from '../../core/events.ts';
import type { Policy } from '../../core/schema/policy.ts';
import type { LoopState } from '../../core/schema/state.ts';
import { transition } from '../../core/transition.ts';
import { atLeast } from '../../core/versions.ts';
import { type StoredContract, readContract } from '../../state/contract-store.ts';
import { withState } from '../../state/with-state.ts';
import { carryOut } from '../carry-out.ts';
import { endedMessage } from '../ended-message.ts';
import { HOOK_TEXTS, said } from '../texts.ts';
import { type HookContext, LOCK_WAIT } from './context.ts';
import { type Fingerprints, gatherIteration } from './gather-iteration.ts';
import { type LoadedLoop, loadLoop } from './load-loop.ts';
import { guardrailsPath, readTask, type TaskText } from './read-task.ts';
import type { StopWork } from './stop-work.ts';
import { waitOut } from './wait-out.ts';

/** The answer to a Stop: a block with the next prompt, a word to the user, or null for plain silence. */
export interface StopAnswer {
  readonly decision?: 'block';
  readonly reason?: string;
  readonly systemMessage?: string;
  readonly hookSpecificOutput?: { readonly hookEventName: 'Stop'; readonly additionalContext: string };
}

export interface StopOptions {
  /** The timeout this hook is registered with, in milliseconds: it cannot ask the client. */
  readonly timeoutMs: number;
  /** Aborted when the client tells the hook to go. */
  readonly signal: AbortSignal;
  readonly loadWork: () => StopWork;
}

/** Additional context from a Stop hook came with this client. */
const TAKES_CONTEXT = '2.1.163';
/** Answer this long before the client's own timeout would kill the hook. */
const ANSWER_MARGIN_MS = 20_000;

type Loaded = Extract<LoadedLoop, { kind: 'loop' }>;

interface Turn {
  readonly context: HookContext;
  readonly options: StopOptions;
  readonly deadline: number;
  /** What the user should read beside the decision. */
  readonly notes: string[];
  loaded: Loaded;
}

/** Decides one Stop. Throws what went wrong with the disk; the caller lets the stop happen then. */
export async function stop(context: HookContext, options: StopOptions): Promise<StopAnswer | null> {
  const deadline = Date.now() + Math.max(1_000, options.timeoutMs - ANSWER_MARGIN_MS);
  const { files } = context;
  const stored = readContract(files);
  const waited = await waitForBackground(context, options, stored, deadline);
  if (waited !== 'decide') return waited;
  const fingerprints = takeFingerprints(context, options, stored);
  const first = withState(files, LOCK_WAIT, (current): { next: LoopState | 'keep'; result: Decided } => {
    const loaded = loadLoop(current, context);
    if (loaded.kind === 'none') {
      const vanished = current.kind === 'absent' && stored?.contract.loopId === context.env['RALPH_LOOP_ID'];
      const message = loaded.message ?? (vanished ? HOOK_TEXTS.vanished : null);
      return { next: 'keep', result: { loaded: null, message, effects: [] } };
    }
    const decided = decideFirst(context, loaded, fingerprints);
    return { next: decided.state, result: { loaded: { ...loaded, state: decided.state }, message: null, effects: decided.effects } };
  });
  if (first.loaded === null) return first.message === null ? null : { systemMessage: said(first.message) };
  const turn: Turn = { context, options, deadline, notes: [], loaded: first.loaded };
  return carryOn(turn, first.effects);
}

interface Decided {
  readonly loaded: Loaded | null;
  readonly message: string | null;
  readonly effects: readonly Effect[];
}

/** The first decision of a Stop, under the lock: notices that are due, then the iteration itself. */
function decideFirst(
  context: HookContext,
  loaded: Loaded,
  fingerprints: Fingerprints,
): { state: LoopState; effects: readonly Effect[] } {
  const { policy, stored } = loaded;
  const at = context.now();
  if (loaded.orphaned) {
    const message = HOOK_TEXTS.orphaned;
    return transition(loaded.state, { type: 'suspended', at, reason: 'contract-changed', message }, policy);
  }
  let { state } = loaded;
  const effects: Effect[] = [];
  for (const event of notices(context, loaded)) {
    const told = transition(state, event, policy);
    state = told.state;
    effects.push(...told.effects);
  }
  const { event, marks } = gatherIteration(context, state, stored, fingerprints);
  const decided = transition(state, event, policy);
  const ignored = decided.effects.some(({ type }) => type === 'ignore');
  return ignored
    ? { state, effects: [...effects, ...decided.effects] }
    : { state: { ...decided.state, marks }, effects: [...effects, ...decided.effects] };
}

function notices(context: HookContext, { state, stored, mended }: Loaded): EngineEvent[] {
  const at = context.now();
  const events: EngineEvent[] = [];
  if (mended !== null) events.push({ type: 'noticed', at, key: `mended ${at}`, warning: mended });
  if (stored === null) return events;
  const task = readTask(context.files.projectDir, state.taskPath);
  if (task !== null && task.frontmatter !== stored.contract.frontmatter) {
    const warning = HOOK_TEXTS.frontmatterChanged(state.taskPath);
    events.push({ type: 'noticed', at, key: `frontmatter ${task.frontmatter.length}`, warning });
  }
  return events;
}

/** Carries the effects out until one of them is the answer. */
async function carryOn(turn: Turn, decided: readonly Effect[]): Promise<StopAnswer | null> {
  let effects = decided;
  for (;;) {
    carryOut(turn.context.files, turn.context.now(), effects);
    for (const effect of effects) if (effect.type === 'notify') turn.notes.push(effect.message);
    const step = effects.find(isStep);
    switch (step?.type) {
      case undefined:
        return null;
      case 'ignore':
        return null;
      case 'allow':
        return letGo(turn, step.message);
      case 'prompt': {
        const task = readTask(turn.context.files.projectDir, turn.loaded.state.taskPath);
        if (task !== null) return block(turn, step, task);
        const message = HOOK_TEXTS.taskMissing(turn.loaded.state.taskPath);
        effects = feed(turn, { type: 'task-missing', at: turn.context.now(), message });
        break;
      }
      case 'wait':
        effects = await waitStep(turn, step.until);
        break;
      case 'look':
        effects = look(turn);
        break;
      case 'verify':
        effects = await verifyStep(turn);
        break;
      default:
        step satisfies never;
    }
  }
}

type Step = Extract<Effect, { type: 'prompt' | 'allow' | 'wait' | 'look' | 'verify' | 'ignore' }>;

function isStep(effect: Effect): effect is Step {
  return ['prompt', 'allow', 'wait', 'look', 'verify', 'ignore'].includes(effect.type);
}

/** Tells the engine what came of an effect, under the lock and only while the loop is still this one. */
function feed(turn: Turn, event: EngineEvent): readonly Effect[] {
  const { loaded, context } = turn;
  return withState(context.files, LOCK_WAIT, (current) => {
    if (current.kind !== 'loop' || current.state.loopId !== loaded.state.loopId) {
      const message = endedMessage(context.files, loaded.state.loopId);
      return { next: 'keep' as const, result: [{ type: 'allow', message }] as const };
    }
    const next = transition(current.state, event, loaded.policy);
    turn.loaded = { ...loaded, state: next.state };
    return { next: next.state, result: next.effects };
  });
}

async function waitStep(turn: Turn, until: string): Promise<readonly Effect[]> {
  const { context, options, deadline, loaded } = turn;
  const end = await waitOut(context, {
    until: Date.parse(until),
    deadline,
    signal: options.signal,
    taskPath: loaded.state.taskPath,
  });
  const at = context.now();
  if (end === 'aborted') return feed(turn, { type: 'interrupted', at, by: 'signal' });
  const cause = end === 'state-changed' ? 'elapsed' : end;
  return feed(turn, { type: 'time-passed', at, cause, seen: null });
}

/** Wake on change: compares what is watched now with what it was when the agent said idle. */
function look(turn: Turn): readonly Effect[] {
  const { context, options, loaded } = turn;
  const { idle } = loaded.policy;
  const before = loaded.state.status === 'waiting' ? loaded.state.waiting.seen : null;
  const now = options
    .loadWork()
    .watchFingerprint(context.files.projectDir, idle?.watch ?? [], loaded.state.taskPath);
  const cause = before !== null && before !== now ? 'changed' : 'quiet';
  return feed(turn, { type: 'time-passed', at: context.now(), cause, seen: now });
}

/** Runs the checks outside the lock; the client's signal ends them and their whole process groups. */
async function verifyStep(turn: Turn): Promise<readonly Effect[]> {
  const { context, options, loaded } = turn;
  const results = await options.loadWork().runChecks(loaded.stored, context.files.projectDir, {
    signal: options.signal,
    env: context.env,
    contractHash: loaded.state.contractHash,
  });
  const at = context.now();
  if (options.signal.aborted) return feed(turn, { type: 'interrupted', at, by: 'signal' });
  return feed(turn, { type: 'verified', at, results });
}

function letGo(turn: Turn, message: string | null): StopAnswer | null {
  const lines = message === null ? turn.notes : [...turn.notes, message];
  // Told to go by the client: nobody reads what is printed now.
  if (lines.length === 0 || turn.options.signal.aborted) return null;
  return { systemMessage: lines.map(said).join('\n') };
}

function block(turn: Turn, step: Extract<Effect, { type: 'prompt' }>, task: TaskText): StopAnswer {
  const { context, loaded } = turn;
  const { state, policy, stored } = loaded;
  const prompt = assemblePrompt({
    iteration: state.iteration + 1,
    maxIterations: state.maxIterations,
    notices: step.notices,
    steering: step.steering,
    guardrailsPath: guardrailsPath(context.files.projectDir),
    findings: null,
    taskPath: state.taskPath,
    body: task.body,
    completion: policy.completion,
    idle: policy.idle !== null,
  });
  const version = stored?.contract.clientVersion ?? clientVersion(context.input.transcriptPath);
  const { reason, context: additional } = deliverPrompt(prompt, policy.reinject, {
    takesContext: atLeast(version, TAKES_CONTEXT),
    taskPath: state.taskPath,
  });
  return {
    decision: 'block',
    reason,
    systemMessage: [...turn.notes.map(said), said(headline(state))].join('\n'),
    ...(additional === null
      ? {}
      : { hookSpecificOutput: { hookEventName: 'Stop' as const, additionalContext: additional } }),
  };
}

function headline(state: LoopState): string {
  return `iteration ${state.iteration + 1} of ${state.maxIterations}.`;
}

function takeFingerprints(context: HookContext, options: StopOptions, stored: StoredContract | null): Fingerprints {
  const policy: Policy | undefined = stored?.contract.policy;
  const { projectDir } = context.files;
  const says = context.input.lastMessage ?? 'ralph:state';
  const watch = policy?.idle?.wake === 'change' && says.includes('ralph:state') ? policy.idle.watch : null;
  const marks = (policy?.breaker.noProgress ?? 0) > 0;
  return {
    seen:
      watch === null
        ? null
        : options.loadWork().watchFingerprint(projectDir, watch, stored?.contract.taskPath ?? ''),
    projectMark: marks ? options.loadWork().projectFingerprint(projectDir) : null,
  };
}

/**
 * Background work that will wake the session by itself: waits inside the hook, because a stop that is allowed while a
 * shell runs on brings no further Stop. A notification or a message of the user lets the turn end with nothing counted;
 * past `background_wait` those tasks are given up and the Stop is decided as if nothing ran.
 */
async function waitForBackground(
  context: HookContext,
  options: StopOptions,
  stored: StoredContract | null,
  deadline: number,
): Promise<StopAnswer | null | 'decide'> {
  const running = context.input.backgroundTasks.filter((task) => task.running);
  if (running.length === 0) return 'decide';
  const loaded = withState(context.files, LOCK_WAIT, (current) => {
    const found = loadLoop(current, context);
    return { next: found.kind === 'loop' ? found.state : 'keep', result: found };
  });
  if (loaded.kind === 'none') return loaded.message === null ? null : { systemMessage: said(loaded.message) };
  const awaited = running.filter(({ id }) => !loaded.state.waitedOut.includes(id));
  const { status } = loaded.state;
  if (awaited.length === 0 || status === 'paused' || status === 'awaiting-consent') return 'decide';
  const turn: Turn = { context, options, deadline, notes: [], loaded };
  const patience = stored?.contract.policy.backgroundWaitMs ?? loaded.policy.backgroundWaitMs;
  const end = await waitOut(context, {
    until: Date.now() + patience,
    deadline,
    signal: options.signal,
    taskPath: null,
  });
  const at = context.now();
  switch (end) {
    case 'aborted':
      return carryOn(turn, feed(turn, { type: 'interrupted', at, by: 'signal' }));
    case 'message':
      return carryOn(turn, feed(turn, { type: 'turn-released', at, why: 'message' }));
    case 'notification':
      return carryOn(turn, feed(turn, { type: 'turn-released', at, why: 'background' }));
    case 'elapsed':
    case 'deadline':
      feed(turn, { type: 'waited-out', at, taskIds: awaited.map(({ id }) => id) });
      return 'decide';
    case 'state-changed':
    case 'changed':
      return 'decide';
    default:
      return end satisfies never;
  }
}
