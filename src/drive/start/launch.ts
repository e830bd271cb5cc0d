import { type ChildProcess, spawn } from 'node:child_process';
import type { EngineEvent } from '../../engine/events.ts';
import { exitCode } from '../../engine/exit-code.ts';
import { wholePrompt } from '../../engine/prompt/assemble-prompt.ts';
import { deliverTaskPrompt } from '../../engine/prompt/deliver-prompt.ts';
import type { TaskTerms } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { transition } from '../../engine/transition.ts';
import { readContract } from '../../state/contract-store.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { readState } from '../../state/read-state.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import { firstPlanPrompt } from '../plan/on-plan.ts';
import { extraSections } from '../prompt/extra-sections.ts';
import { plainPrompt } from '../prompt/plain-prompt.ts';
import { readTask } from '../prompt/read-task.ts';
import { type TaskPromptRequest, taskPrompt } from '../prompt/task-prompt.ts';
import { endedLoop, endedState, unheard } from '../status/ended-loop.ts';
import { abortIfSuperseded } from '../turn/abort-if-superseded.ts';
import { applyEffects, noteApiError } from '../turn/apply-effects.ts';
import { HOOK_TEXTS, LAUNCH_TEXTS } from '../turn/messages.ts';
import { hasUnverifiedCompletion, restoreState } from '../turn/tampering.ts';
import { rateLimitWait, remainingMs } from '../turn/wait.ts';
import type { StartedLoop } from './start-loop.ts';

export interface LaunchOptions {
  readonly client: string;
  readonly headless: boolean;
  /** Our settings for the client: hooks, environment, status line, as one JSON text. */
  readonly settings: string;
  readonly permissionMode: string | null;
  readonly model: string | null;
  readonly effort: string | null;
  /** Passed through to the client as they are. */
  readonly rest: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly say: (text: string) => void;
}

export interface LaunchResult {
  readonly code: number;
  readonly message: string;
}

/** A prompt of this size would not fit an argument list everywhere; then the file is named instead. */
const ARGUMENT_LIMIT = 100 * 1024;
/** How long a headless client may outlive its loop, in looks of half a second. */
const LOOK_MS = 500;
const LOOKS_AFTER_END = 20;

/**
 * Runs the client for a started loop until the loop is over or the client is gone, and says how it ended. Headless, a
 * rate limit is waited out and the same session goes on.
 */
export async function launch(loop: StartedLoop, options: LaunchOptions): Promise<LaunchResult> {
  const { files, loopId } = loop;
  let session: string | null = null;
  for (let limits = 0; ; limits++) {
    const now = (): string => new Date().toISOString();
    const began = now();
    await runClient(loop, options, session);
    if (options.headless) noteApiError(files, loopId, now(), began);
    const state = ownState(files, loopId);
    const limited = state?.status === 'paused' && state.paused.reason === 'rate-limited';
    if (!options.headless || !limited) return settle(files, loopId, now());
    const until = state.paused.resumesAt;
    const pause =
      until === null ? rateLimitWait(options.env, limits) : Math.max(1_000, Date.parse(until) - Date.now() + 1_000);
    options.say(LAUNCH_TEXTS.waitingForLimit(new Date(Date.now() + pause).toISOString()));
    if (!(await waitFor(pause, files, loopId))) return settle(files, loopId, now());
    resume(files, loopId, now());
    session = state.sessionId;
  }
}

/** Resolves when the client is gone, or was not started because the user left, or ended the loop, while the first prompt was made. */
async function runClient(loop: StartedLoop, options: LaunchOptions, session: string | null): Promise<void> {
  const { files, loopId } = loop;
  const now = (): string => new Date().toISOString();
  // What the prompt carries is taken before it is made: what is said meanwhile waits for the next one.
  change(files, loopId, { type: 'first-prompt', at: now() });
  const prompt = await firstPrompt(loop, options);
  change(files, loopId, { type: 'prompt-made', at: now(), outcome: prompt === null ? 'given-up' : 'ready' });
  // A cancel or a pause of the user's that came meanwhile stands: there is nothing for a client to do.
  if (prompt === null || ownState(files, loopId)?.status !== 'running') return;
  const { client, headless, settings, permissionMode, model, effort, rest, env } = options;
  const args = [
    ...(headless ? ['-p'] : []),
    // No argument can hold a NUL, which what a command printed can: it stands as the sign for one that cannot be shown.
    prompt.replaceAll('\0', '\uFFFD'),
    ...['--settings', settings],
    ...(session === null ? [] : ['--resume', session]),
    ...(permissionMode === null ? [] : ['--permission-mode', permissionMode]),
    ...(model === null ? [] : ['--model', model]),
    ...(effort === null ? [] : ['--effort', effort]),
    ...rest,
  ];
  await new Promise<void>((resolve, reject) => {
    const child = spawn(client, args, {
      stdio: [headless ? 'ignore' : 'inherit', 'inherit', 'inherit'],
      cwd: files.projectDir,
      env,
    });
    // Ctrl+C belongs to the client, which shares the terminal; what is sent to us alone is passed on.
    const ignore = (): void => undefined;
    const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
    const interrupt = headless ? pass : ignore;
    process.on('SIGINT', interrupt);
    process.on('SIGTERM', pass);
    process.on('SIGHUP', pass);
    const ending = headless ? endWithLoop(child, loop) : undefined;
    const finish = (): void => {
      clearInterval(ending);
      process.off('SIGINT', interrupt);
      process.off('SIGTERM', pass);
      process.off('SIGHUP', pass);
    };
    child.once('error', (error) => {
      finish();
      reject(error);
    });
    child.once('exit', () => {
      finish();
      resolve();
    });
  });
}

/**
 * A headless client waits for background shells that still run, ten minutes and more (measured): once the loop is over
 * there is nothing left to wait for.
 */
function endWithLoop(child: ChildProcess, { files, loopId }: StartedLoop): NodeJS.Timeout {
  let looks = 0;
  return setInterval(() => {
    if (ownState(files, loopId) !== null || endedLoop(files, loopId) === null) looks = 0;
    else if (++looks === LOOKS_AFTER_END) child.kill('SIGTERM');
  }, LOOK_MS);
}

/**
 * The first prompt, assembled as every later one; also for a client that comes back to a loop. null: there is no prompt
 * to be sent, because the loop does not run, or the user has left or ended it meanwhile.
 */
async function firstPrompt(loop: StartedLoop, options: LaunchOptions): Promise<string | null> {
  const { files, stored, loopId } = loop;
  const state = ownState(files, loopId);
  if (state?.status !== 'running' || state.handedOver === null) return null;
  const told = state.handedOver;
  if (stored.contract.policy.plan) return firstPlanPrompt({ files, stored, state }, told, options.env, options.say);
  const body = readTask(files.projectDir, state.taskPath)?.body ?? '';
  const { contract } = stored;
  if (contract.task !== null) return firstTaskPrompt(loop, contract.task, { state, body, told }, options);
  const beside = extraSections(files, contract, new Date().toISOString(), true);
  const parts = { ...told, findings: null, body, beside };
  const prompt = plainPrompt(files.projectDir, { state, policy: contract.policy }, parts);
  const whole = wholePrompt(prompt);
  if (Buffer.byteLength(whole) <= ARGUMENT_LIMIT) return whole;
  return `${prompt.preface}\n\nRead ${state.taskPath} now, whole, and work by it.\n\n${prompt.closing}\n`;
}

/** Runs the task folder's commands first. null: Ctrl+C, a cancel, stop or pause has ended them, and no client is started. */
async function firstTaskPrompt(
  { files, stored }: StartedLoop,
  task: TaskTerms,
  known: Pick<TaskPromptRequest, 'state' | 'body' | 'told'>,
  { env, say }: LaunchOptions,
): Promise<string | null> {
  const left = new AbortController();
  const leave = (): void => left.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.on(name, leave);
  try {
    const made = await abortIfSuperseded(files, known.state, left.signal, (signal) =>
      taskPrompt({
        ...known,
        files,
        contract: stored.contract,
        task,
        findings: null,
        fresh: true,
        env,
        signal,
        now: () => new Date().toISOString(),
        watch: {
          onEvidence: ({ name, outcome, durationMs }) => say(LAUNCH_TEXTS.ranCommand(name, outcome, durationMs)),
        },
      }),
    );
    if (made === 'aborted' || made === 'superseded') return null;
    const { prompt, path } = made;
    const whole = wholePrompt(prompt);
    if (path === null || Buffer.byteLength(whole) <= ARGUMENT_LIMIT) return whole;
    return deliverTaskPrompt(prompt, 'pointer', { promptPath: path }).reason;
  } finally {
    for (const name of signals) process.off(name, leave);
  }
}

/** The loop's state while it is still this one, else null. */
function ownState(files: LoopFiles, loopId: string): LoopState | null {
  const current = readState(files.state);
  return current.kind === 'loop' && current.state.loopId === loopId ? current.state : null;
}

/** true when the time has passed and the loop still waits for it; false when somebody ended or changed it. */
async function waitFor(milliseconds: number, files: LoopFiles, loopId: string): Promise<boolean> {
  const left = remainingMs(Date.now() + milliseconds);
  while (left() > 0) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(500, left())));
    if (ownState(files, loopId)?.status !== 'paused') return false;
  }
  return true;
}

function resume(files: LoopFiles, loopId: string, at: string): void {
  change(files, loopId, { type: 'operator', at, command: { kind: 'resume', by: 'launcher' } });
}

/** The client is gone: a loop that still lives was interrupted. Gives the exit code and says why it ended. */
function settle(files: LoopFiles, loopId: string, at: string): LaunchResult {
  distrust(files, loopId, at);
  change(files, loopId, { type: 'interrupted', at, by: 'client-exit' });
  const state = ownState(files, loopId);
  if (state?.status === 'paused') {
    const { reason, message } = state.paused;
    if (reason === 'interrupted') return { code: exitCode('interrupted'), message };
    return { code: exitCode('paused'), message: message };
  }
  if (state !== null && state.status !== 'ended')
    return { code: exitCode('interrupted'), message: show(LAUNCH_TEXTS.stillThere, state) };
  // Whoever ends a loop drops its contract: while that stands, the archive says nothing that could be believed.
  if (readContract(files)?.contract.loopId === loopId) {
    return { code: exitCode('error'), message: show(HOOK_TEXTS.vanished, { name: files.name, mode: 'hook' }) };
  }
  const over = endedState(files, loopId);
  if (over === null)
    return { code: exitCode('error'), message: show(LAUNCH_TEXTS.unknownEnd, { name: files.name, mode: 'hook' }) };
  const left = unheard(over);
  const { as, message } = over.ended;
  return { code: exitCode(as), message: left === null ? message : `${message} ${left}` };
}

/** A completion that nobody proved is taken back, before it is archived as one. */
function distrust(files: LoopFiles, loopId: string, at: string): void {
  const stored = readContract(files);
  if (stored === null || stored.contract.loopId !== loopId) return;
  withState(files, LOCK_WAIT, (current) => {
    if (current.kind !== 'loop' || !hasUnverifiedCompletion(current.state))
      return { next: 'keep' as const, result: undefined };
    const { sessionId, clientPid, clientStartedAt } = current.state;
    const client = { sessionId: sessionId ?? '', clientPid, clientStartedAt };
    return { next: restoreState(files, stored, client, at, current.state.epoch), result: undefined };
  });
}

function change(files: LoopFiles, loopId: string, event: EngineEvent): void {
  const stored = readContract(files);
  if (stored === null) return;
  const effects = withState(files, LOCK_WAIT, (current) => {
    if (current.kind !== 'loop' || current.state.loopId !== loopId) return { next: 'keep' as const, result: [] };
    const next = transition(current.state, event, stored.contract.policy);
    return { next: next.state, result: next.effects };
  });
  applyEffects(files, event.at, effects);
}
