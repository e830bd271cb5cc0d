import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { wholePrompt } from '../../../engine/prompt/assemble-prompt.ts';
import type { SessionTerms } from '../../../hosts/host.ts';
import { hostOf } from '../../../hosts/hosts.ts';
import { lossIn } from '../../../state/evidence/evidence.ts';
import { orLogged, readLoop } from '../../../state/loop-files.ts';
import { endGroup } from '../../../state/process/group.ts';
import { isAtTerminal, onSignals } from '../../../state/process/signals.ts';
import { checkCommands } from '../../../state/tdd-store.ts';
import { endedState } from '../../../state/with-state.ts';
import { endOverBudget } from '../../control/end-over-budget.ts';
import { launcherVariable } from '../../control/ownership.ts';
import { deliveryOf, makePrompt } from '../../effects/make-prompt.ts';
import { applyEffects } from '../../records/apply-effects.ts';
import { leaveOutSleep } from '../../turn/abort-if-superseded.ts';
import { LAUNCH_TEXTS } from '../../turn/messages.ts';
import type { Listener } from '../../turn/task-kind.ts';
import { type Dispatched, isStep, type PromptStep, pauseForLoss, startFreshTurn, type Turn } from '../../turn/turn.ts';

export interface ClientRun extends Omit<SessionTerms, 'prompt' | 'session' | 'checks' | 'mayRun'> {
  readonly client: string;
  readonly env: NodeJS.ProcessEnv;
  readonly say: (text: string) => void;
}

const POLL_MS = 500;
/** Number of polls that a headless client may outlive its loop. */
const POLLS_AFTER_END = 20;
/** The same for a turn that no hook can end, while each of its calls is denied. */
const POLLS_OF_TURN = 6;

/** Runs the client until it exits. Does not start it if the user leaves or ends the loop while its prompt is made. */
export async function runClient(
  turn: Turn,
  options: ClientRun,
  session: string | null,
  repeat: () => void,
): Promise<void> {
  const prompt = await firstPrompt(turn, options.say);
  if (prompt === null) return;
  const { client, headless, env } = options;
  const { files } = turn.context;
  const contract = turn.loaded.stored?.contract;
  const args = hostOf(contract?.host).sessionArgs({
    ...options,
    // Command output can contain a NUL, an argument cannot.
    prompt: prompt.replaceAll('\0', '\uFFFD'),
    session,
    checks: contract === undefined ? [] : checkCommands(files, contract),
    mayRun: contract?.mayRun ?? [],
  });
  // A shell sends SIGHUP to the whole group of its job.
  const leads = headless && !isAtTerminal();
  const child = spawn(client, args, {
    stdio: [headless ? 'ignore' : 'inherit', 'inherit', 'inherit'],
    cwd: files.projectDir,
    env: headless ? { ...env, ...launcherVariable() } : env,
    detached: leads,
  });
  // The client shares the terminal and receives Ctrl+C itself; signals to this process are passed on.
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  const quiet = onSignals({ press: headless ? pass : () => undefined, leave: pass });
  const ending = headless ? endWithLoop(child, turn, repeat) : undefined;
  const timer = endAtLimit(child, turn, options);
  const endWatch = leaveOutSleep(turn, options.say);
  try {
    await once(child, 'exit');
    // If only a client's wrapper is killed, the client itself continues.
    if (leads && child.signalCode !== null && child.pid !== undefined) await endGroup(child.pid);
  } finally {
    clearInterval(ending);
    clearInterval(timer);
    endWatch();
    quiet();
  }
}

/** Ends a headless client after its loop: it would otherwise wait ten minutes and more for background shells (measured). */
function endWithLoop(child: ChildProcess, { context: { files }, loaded }: Turn, repeat: () => void): NodeJS.Timeout {
  const { loopId } = loaded.state;
  const { endsTurns } = hostOf(loaded.stored?.contract.host);
  let polls = 0;
  return setInterval(() => {
    repeat();
    if (readLoop(files, loopId) !== null || endedState(files, loopId) === null) polls = 0;
    else if (++polls === POLLS_AFTER_END) child.kill('SIGTERM');
    else if (polls === POLLS_OF_TURN && !endsTurns) child.kill('SIGINT');
  }, POLL_MS);
}

/** Polls between signals to a headless client whose loop has used its time. */
const POLLS_AFTER_LIMIT = 3;

/** Ends the loop at its max_time even if its agent is busy, and a headless client with it. */
function endAtLimit(child: ChildProcess, turn: Turn, { headless }: ClientRun): NodeJS.Timeout | undefined {
  const { context, loaded } = turn;
  const { files, now } = context;
  const contract = loaded.stored?.contract;
  if (contract === undefined || contract.policy.budget.maxTimeMs === null) return undefined;
  let polls = 0;
  return setInterval(() => {
    const state = readLoop(files, loaded.state.loopId);
    if (polls === 0) {
      if (state === null) return;
      const ended = orLogged(files, now(), 'launch', () =>
        endOverBudget(files, state, contract, { env: context.env, at: now(), transcriptPath: null }),
      );
      if (!ended) return;
    }
    polls += 1;
    if (!headless) return;
    if (polls === 1) child.kill('SIGINT');
    else if (polls === 1 + POLLS_AFTER_LIMIT) child.kill('SIGTERM');
    else if (polls === 1 + 2 * POLLS_AFTER_LIMIT) child.kill('SIGKILL');
  }, POLL_MS);
}

/** Size above which a prompt may not fit an argument list; the client is then pointed to the file. */
const ARGUMENT_LIMIT = 100 * 1024;

/** Makes the prompt of the client's first iteration. Returns null if the loop is not running or stops running. */
async function firstPrompt(begun: Turn, say: (text: string) => void): Promise<string | null> {
  const { context, loaded } = begun;
  const { files, now } = context;
  const state = readLoop(files, loaded.state.loopId);
  if (state?.status !== 'running') return null;
  const listener: Listener = {
    notify: (_, message) => say(message),
    tell: (_, event) => {
      if (event.type === 'command.ran')
        say(LAUNCH_TEXTS.ranCommand(event.name, event.outcome, event.durationMs, event.why));
    },
  };
  const left = new AbortController();
  const leave = (): void => left.abort();
  const quiet = onSignals({ press: leave, leave });
  try {
    let next: Dispatched = startFreshTurn({ ...begun, loaded: { ...loaded, state }, signal: () => left.signal });
    for (;;) {
      applyEffects(files, now(), next.effects);
      const step = next.effects.find(isStep);
      if (step?.type !== 'prompt') return null;
      const made = await makePromptOrPause(next.turn, step, listener);
      if ('effects' in made) {
        next = made;
        continue;
      }
      const whole = wholePrompt(made.prompt.assembled);
      if (Buffer.byteLength(whole) <= ARGUMENT_LIMIT) return whole;
      return deliveryOf(made.prompt, 'pointer', state.taskPath).reason;
    }
  } finally {
    quiet();
  }
}

/** Makes a prompt. Pauses the loop if evidence is lost; the loop may also have been cancelled meanwhile. */
async function makePromptOrPause(turn: Turn, step: PromptStep, listener: Listener): ReturnType<typeof makePrompt> {
  try {
    return await makePrompt(turn, step, listener);
  } catch (error) {
    return pauseForLoss(turn, lossIn(error));
  }
}
