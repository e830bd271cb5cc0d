import { clientVersion } from '../../claude/transcript.ts';
import type { PromptParts } from '../../core/assemble-prompt.ts';
import type { Effect } from '../../core/effects.ts';
import type { CheckResult, EngineEvent } from '../../core/events.ts';
import type { Contract, TaskTerms } from '../../core/schema/contract.ts';
import { transition } from '../../core/transition.ts';
import { BEAT_MS } from '../../state/heartbeat.ts';
import { withState } from '../../state/with-state.ts';
import { forLoop } from '../../term/for-loop.ts';
import { besideTask } from '../beside-task.ts';
import { carryOut } from '../carry-out.ts';
import { endedLoop } from '../ended-loop.ts';
import { LOCK_WAIT } from '../lock-wait.ts';
import { openedPrompt, openPlan, planContract } from '../plan/on-plan.ts';
import { gatherEvidence, seenBy } from '../task/gather-evidence.ts';
import { mirrorOf } from '../task/mirror.ts';
import { type TaskPrompt, taskPrompt } from '../task/task-prompt.ts';
import { noteRecord, showIteration, type TaskTurn } from '../task/task-turn.ts';
import { HOOK_TEXTS, said } from '../texts.ts';
import { unlessOvertaken } from '../unless-overtaken.ts';
import { blockAnswer, type StopAnswer, taskBlockAnswer } from './answer-block.ts';
import { CLIENT_GONE } from './client-gone.ts';
import type { HookContext } from './context.ts';
import type { LoadedLoop } from './load-loop.ts';
import { realFindings } from './open-findings.ts';
import { readTask } from './read-task.ts';
import type { StopWork } from './stop-work.ts';
import { waitOut } from './wait-out.ts';

export interface StopOptions {
  /** The timeout this hook is registered with, in milliseconds: it cannot ask the client. */
  readonly timeoutMs: number;
  /** Aborted when the client tells the hook to go, or is gone. */
  readonly signal: AbortSignal;
  readonly work: StopWork;
}

export type Loaded = Extract<LoadedLoop, { kind: 'loop' }>;

export interface Turn {
  readonly context: HookContext;
  readonly options: StopOptions;
  readonly deadline: number;
  /** What the user should read beside the decision. */
  readonly notes: string[];
  loaded: Loaded;
  /** What a task folder's loop learns beside. */
  readonly task?: TaskTurn | null;
  /** Under which a runner works; a hook has none. */
  readonly lease?: { readonly loopId: string; readonly epoch: number };
  /** Told to go, the driver leaves the loop as it stands, for its next call; a hook's loop is paused. */
  readonly leaves?: true;
}

/** Carries the effects out until one of them is the answer. */
export async function carryOn(turn: Turn, decided: readonly Effect[]): Promise<StopAnswer | null> {
  let effects = decided;
  for (;;) {
    const step = carryOutAlike(turn, effects);
    for (const effect of effects) if (effect.type === 'notify') turn.notes.push(effect.message);
    switch (step?.type) {
      case undefined:
        return null;
      case 'ignore':
        return null;
      case 'allow':
        return letGo(turn, step.message);
      case 'prompt': {
        const instead = await openPlan(turn, (message) => turn.notes.push(message));
        if (instead !== null) {
          effects = instead;
          break;
        }
        const task = readTask(turn.context.files.projectDir, turn.loaded.state.taskPath);
        if (task !== null) {
          const sent = await sendBack(turn, step, task.body);
          if (!('meanwhile' in sent)) return sent;
          effects = sent.meanwhile;
          break;
        }
        const message = HOOK_TEXTS.taskMissing(turn.loaded.state.taskPath);
        effects = feed(turn, { type: 'task-missing', at: turn.context.now(), message });
        break;
      }
      case 'wait':
        if (turn.task) turn.task.waited = true;
        effects = await waitStep(turn, step.until);
        break;
      case 'look':
        effects = await look(turn);
        break;
      case 'verify':
        effects = await verifyStep(turn);
        break;
      default:
        step satisfies never;
    }
  }
}

/** Carries out what every driver does alike, and gives what is left for this one to do. */
export function carryOutAlike({ context, task, loaded }: Turn, effects: readonly Effect[]): Step | undefined {
  const { files, now } = context;
  carryOut(files, now(), effects);
  const step = effects.find(isStep);
  if (task) {
    noteRecord(task, effects);
    // A claim belongs to its iteration: that is shown once the gate has spoken.
    if (step?.type !== 'verify') showIteration(files, task, loaded.state, now());
  }
  return step;
}

/** The block, or what has to be done instead because something came in while the prompt was made. */
async function sendBack(
  turn: Turn,
  step: Extract<Effect, { type: 'prompt' }>,
  body: string,
): Promise<StopAnswer | { readonly meanwhile: readonly Effect[] }> {
  const { context, loaded, notes } = turn;
  const { stored } = loaded;
  const ofPlan = await openedPrompt(turn, step);
  if (ofPlan !== null) {
    const effects = feed(turn, { type: 'prompt-made', at: context.now(), outcome: 'ready' });
    if (effects.some(isStep)) return { meanwhile: effects };
    return taskBlockAnswer(turn.loaded, { prompt: ofPlan, path: null }, notes, versionOf(turn));
  }
  const findings = realFindings(context.files.projectDir, stored, loaded.state.lastFindingsCount);
  if (!stored?.contract.task) {
    const beside = stored === null ? [] : besideTask(context.files, stored.contract, context.now(), false);
    return blockAnswer(context, { ...loaded, findings, beside }, step, body, notes, versionOf(turn));
  }
  const made = await makeTaskPrompt(turn, stored.contract, stored.contract.task, step, body, findings);
  if (made === 'aborted') {
    feed(turn, { type: 'prompt-made', at: context.now(), outcome: 'given-up' });
    return { meanwhile: toldToGo(turn) };
  }
  const effects = feed(turn, { type: 'prompt-made', at: context.now(), outcome: 'ready' });
  if (effects.some(isStep)) return { meanwhile: effects };
  // Whoever stood in its way is gone again: it is made anew.
  if (made === 'overtaken') return { meanwhile: [step] };
  return taskBlockAnswer(turn.loaded, made, notes, versionOf(turn));
}

function makeTaskPrompt(
  { context, loaded, options, task: own }: Turn,
  contract: Contract,
  task: TaskTerms,
  told: Extract<Effect, { type: 'prompt' }>,
  body: string,
  findings: PromptParts['findings'],
): Promise<TaskPrompt | 'aborted' | 'overtaken'> {
  const { files, env, now } = context;
  // A look that is seconds old serves for the next iteration, unless a command or somebody else had the time to change something.
  const before = task.commands.length === 0 && own && !own.waited && own.gate === null ? own.measured.after : null;
  const { state } = loaded;
  return unlessOvertaken(files, state, options.signal, (signal) =>
    taskPrompt({ files, contract, task, state, body, told, findings, before, env, signal, now }),
  );
}

/** Known from the launch, or else from the client's own transcript. */
function versionOf({ context, loaded }: Turn): string | null {
  return loaded.stored?.contract.clientVersion ?? clientVersion(context.input.transcriptPath);
}

export type Step = Extract<Effect, { type: 'prompt' | 'allow' | 'wait' | 'look' | 'verify' | 'ignore' }>;

export function isStep(effect: Effect): effect is Step {
  return ['prompt', 'allow', 'wait', 'look', 'verify', 'ignore'].includes(effect.type);
}

/** Tells the engine what came of an effect, under the lock and only while the loop is still this one. */
export function feed(turn: Turn, event: EngineEvent): readonly Effect[] {
  const { loaded, context, lease } = turn;
  return withState(context.files, { ...LOCK_WAIT, ...(lease && { lease }) }, (current) => {
    if (current.kind !== 'loop' || current.state.loopId !== loaded.state.loopId) {
      const message = endedLoop(context.files, loaded.state.loopId)?.message ?? null;
      return { next: 'keep' as const, result: [{ type: 'allow', message }] as const };
    }
    const next = transition(current.state, event, loaded.policy);
    turn.loaded = { ...loaded, state: next.state };
    return { next: next.state, result: next.effects };
  });
}

/** The client told the hook to go, or is gone itself. */
export function toldToGo(turn: Turn): readonly Effect[] {
  if (turn.leaves) return [];
  const by = turn.options.signal.reason === CLIENT_GONE ? 'client-exit' : 'signal';
  return feed(turn, { type: 'interrupted', at: turn.context.now(), by });
}

export async function waitStep(turn: Turn, until: string): Promise<readonly Effect[]> {
  const { context, options, deadline, loaded } = turn;
  // Between two iterations a task that is edited is read when the delay is over, as ever.
  const pace = loaded.state.status === 'waiting' && loaded.state.waiting.why === 'pace';
  const shown = showAlive(turn);
  const end = await waitOut(context, {
    until: Date.parse(until),
    // What the next prompt tells has to be gathered within the same timeout.
    deadline: deadline - evidenceMs(loaded.stored?.contract),
    signal: options.signal,
    state: loaded.state,
    taskPath: pace ? null : loaded.state.taskPath,
  });
  clearInterval(shown);
  const at = context.now();
  if (end === 'aborted') return toldToGo(turn);
  const cause = end === 'state-changed' ? 'elapsed' : end;
  return feed(turn, { type: 'time-passed', at, cause, seen: null });
}

/** The most that a task folder's commands can take before a prompt. */
function evidenceMs(contract: Contract | undefined): number {
  return (contract?.task?.commands ?? []).reduce((sum, { timeoutSeconds }) => sum + timeoutSeconds * 1000, 0);
}

/** A loop that sleeps is no dead one: its task folder says so every minute. */
function showAlive({ task, context }: Turn): NodeJS.Timeout | undefined {
  if (!task) return undefined;
  const { files, now } = context;
  return setInterval(() => mirrorOf(files, now(), task.contract).status(now()), BEAT_MS).unref();
}

/** Wake on change: compares what is watched, and what the commands show, with what it was when the agent said idle. */
export async function look(turn: Turn): Promise<readonly Effect[]> {
  const { context, options, loaded } = turn;
  const { idle } = loaded.policy;
  const { projectDir } = context.files;
  const contract = loaded.stored?.contract;
  const before = loaded.state.status === 'waiting' ? loaded.state.waiting.seen : null;
  const iteration = loaded.state.iteration + 1;
  const evidence = await unlessOvertaken(context.files, loaded.state, options.signal, async (signal) =>
    contract ? gatherEvidence(contract, projectDir, { signal, env: context.env, iteration }) : [],
  );
  if (evidence === 'aborted') return toldToGo(turn);
  if (evidence === 'overtaken') {
    return feed(turn, { type: 'time-passed', at: context.now(), cause: 'elapsed', seen: null });
  }
  const now = seenBy(
    options.work.watchFingerprint(projectDir, idle?.watch ?? [], loaded.state.taskPath),
    contract,
    evidence,
  );
  const cause = before !== null && before !== now ? 'changed' : 'quiet';
  return feed(turn, { type: 'time-passed', at: context.now(), cause, seen: now });
}

const GIVEN_UP: CheckResult = { name: 'checks', outcome: 'unavailable', detail: HOOK_TEXTS.checksGivenUp };

/** Runs the checks outside the lock; the client's signal ends them and their whole process groups. */
export async function verifyStep(turn: Turn): Promise<readonly Effect[]> {
  const plan = planContract(turn);
  if (plan !== null) return (await import('../plan/plan-steps.ts')).verifyPlanStep(turn, plan);
  const { context, options, loaded } = turn;
  const { files, env } = context;
  const { contractHash, iteration } = loaded.state;
  const checked = await unlessOvertaken(files, loaded.state, options.signal, (signal) =>
    options.work.runChecks(loaded.stored, files.projectDir, { signal, env, contractHash, iteration }),
  );
  if (checked === 'aborted') return toldToGo(turn);
  // What was given up proves nothing, should the loop be at its claim again.
  const results = checked === 'overtaken' ? [GIVEN_UP] : checked;
  if (turn.task) turn.task.gate = results;
  return feed(turn, { type: 'verified', at: context.now(), results });
}

function letGo(turn: Turn, message: string | null): StopAnswer | null {
  const lines = message === null ? turn.notes : [...turn.notes, message];
  // Told to go by the client: nobody reads what is printed now.
  if (lines.length === 0 || turn.options.signal.aborted) return null;
  return { systemMessage: forLoop(lines.map(said).join('\n'), turn.loaded.state) };
}
