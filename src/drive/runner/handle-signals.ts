import { randomUUID } from 'node:crypto';
import { steering } from '../../engine/events.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { readState } from '../../state/loop-files.ts';
import { onSignals } from '../../state/process/signals.ts';
import type { LiveControls } from '../../term/live/live-view.ts';
import { RalphError } from '../../text/message.ts';
import { operate } from '../control/operate.ts';
import { restoreMidTurn } from '../control/restore-protected.ts';
import { applyEffects } from '../records/apply-effects.ts';
import { dispatch } from '../turn/turn.ts';
import { RUNNER_TEXTS } from './messages.ts';
import { type Leaving, now, type Runner } from './runner.ts';
import { allowCall, pollForChanges } from './watch-operator.ts';

/** Handles signals: Ctrl+C ends the loop after the current work, or a wait at once; pressed twice, it cancels. */
export function handleSignals(runner: Runner): () => void {
  return onSignals({ press: () => pressCtrlC(runner), leave: () => attempt(runner, () => leaveIt(runner)) });
}

function pressCtrlC(runner: Runner): void {
  attempt(runner, () => {
    const current = readState(runner.files.state);
    if (current.kind === 'loop') pressed(runner, current.state);
  });
}

/** Runs an action. Does nothing if the loop no longer exists: the runner is about to notice. */
export function attempt(runner: Runner, act: () => void): void {
  try {
    act();
  } catch (error) {
    if (error instanceof RalphError && error.code === 'no-loop') return;
    const isFenced = error instanceof RalphError && error.code === 'state-fenced';
    if (!isFenced) runner.options.tell({ type: 'agent.notice', message: (error as Error).message });
    leave(runner, isFenced ? 'lease-lost' : 'signal');
  }
}

function pressed(runner: Runner, state: LoopState): void {
  switch (state.status) {
    case 'waiting':
      stopNow(runner);
      return;
    case 'paused':
      if (state.paused.reason === 'rate-limited') stopNow(runner);
      else if (state.paused.reason === 'interrupted') leaveIt(runner);
      else leave(runner, 'paused');
      return;
    case 'running':
    case 'verifying':
      if (runner.retryNow !== null) stopNow(runner);
      else if (state.stopRequested) {
        steerBy(runner, () => ({ kind: 'cancel' }));
        leave(runner, 'signal');
      } else {
        steerBy(runner, () => ({ kind: 'stop', clientAlive: true }));
        runner.options.tell({ type: 'agent.notice', message: RUNNER_TEXTS.finishing });
        pollForChanges(runner);
      }
      return;
    case 'awaiting-consent':
    case 'ended':
      leave(runner, 'signal');
      return;
    default:
      state satisfies never;
  }
}

/** Ends a wait of the loop, so that it continues now. Does nothing in any other state. */
function wake(runner: Runner): void {
  const current = readState(runner.files.state);
  if (current.kind !== 'loop') return;
  const { state } = current;
  if (runner.retryNow !== null) runner.retryNow();
  else if (state.status === 'waiting') steerBy(runner, () => ({ kind: 'wake' }));
  else if (state.status === 'paused' && state.paused.reason === 'rate-limited')
    steerBy(runner, () => ({ kind: 'resume', by: 'launcher' }));
  else return;
  runner.options.tell({ type: 'agent.notice', message: RUNNER_TEXTS.wokenByUser });
}

function stopNow(runner: Runner): void {
  steerBy(runner, () => ({ kind: 'stop', clientAlive: false }));
  runner.options.tell({ type: 'agent.notice', message: RUNNER_TEXTS.stopping });
  leave(runner, 'signal');
}

function steerBy({ files, options }: Runner, command: Parameters<typeof operate>[3]): void {
  operate(files, options.env, now(), command, { restore: restoreMidTurn });
}

/** Leaves the loop as it is, to be resumed; if it has ended meanwhile, it stays ended. */
export function leaveIt(runner: Runner): void {
  attempt(runner, () => tellInterrupted(runner, 'client-exit'));
  leave(runner, 'signal');
}

/** Dispatches the user's interruption concurrently with the runner's other work. */
function tellInterrupted({ files, begun }: Runner, by: 'signal' | 'client-exit'): void {
  const at = now();
  applyEffects(files, at, dispatch(begun, { type: 'interrupted', at, by }).effects);
}

function leave(runner: Runner, why: Leaving): void {
  runner.leave.abort(why);
  runner.agent?.end('interrupt');
}

export function liveControls(runner: Runner): LiveControls {
  return {
    say: (text, delivery) => {
      steerBy(runner, () => steering(randomUUID(), text, delivery));
      pollForChanges(runner);
    },
    interrupt: () => interrupt(runner),
    goOn: (text) => {
      if (text !== '') steerBy(runner, () => steering(randomUUID(), text, 'next'));
      steerBy(runner, () => ({ kind: 'resume', by: 'launcher' }));
      pollForChanges(runner);
    },
    wake: () => wake(runner),
    allow: (call) => allowCall(runner, call, 'the terminal of this runner'),
    press: () => pressCtrlC(runner),
  };
}

/** Asks the agent to end its turn; the second time, ends it. Without an agent, the loop is paused at once. */
function interrupt(runner: Runner): void {
  const { agent, files, options } = runner;
  if (agent === null) {
    if (readState(files.state).kind === 'loop') tellInterrupted(runner, 'signal');
    return;
  }
  agent.end('interrupt', runner.interrupted);
  if (!runner.interrupted) options.tell({ type: 'agent.interrupting' });
  runner.interrupted = true;
}
