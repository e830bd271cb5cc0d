import { randomUUID } from 'node:crypto';
import { steering } from '../../core/steering.ts';
import { readState } from '../../state/read-state.ts';
import type { LiveControls } from '../../term/live/live-view.ts';
import { operate } from '../operate.ts';
import { lookAround } from './control.ts';
import { pressCtrlC, tellInterrupted } from './hear-signals.ts';
import type { Runner } from './runner.ts';

/** An agent that was asked to end its turn and has not done so by then is ended. */
const POLITE_MS = 5_000;

/** What the keys of the live view do to the loop: what the commands do from another terminal, and heard at once. */
export function liveControls(runner: Runner): LiveControls {
  const { files, options, turn } = runner;
  const command = (what: Parameters<typeof operate>[3]): void => {
    operate(files, options.env, turn.context.now(), what);
  };
  return {
    say: (text, delivery) => {
      command(() => steering(randomUUID(), text, delivery));
      lookAround(runner);
    },
    interrupt: () => interrupt(runner),
    goOn: (text) => {
      if (text !== '') command(() => steering(randomUUID(), text, 'next'));
      command(() => ({ kind: 'resume', by: 'launcher' }));
      lookAround(runner);
    },
    press: () => pressCtrlC(runner),
  };
}

/** Where no agent works the loop is paused at once; the second time an agent is not asked any more. */
function interrupt(runner: Runner): void {
  const { agent, files, options } = runner;
  if (agent === null) {
    if (readState(files.state).kind === 'loop') tellInterrupted(runner, 'signal');
    return;
  }
  if (runner.interrupted) {
    agent.end('interrupt');
    return;
  }
  runner.interrupted = true;
  options.tell({ type: 'interrupting' });
  agent.interrupt();
  const force = setTimeout(() => agent.end('interrupt'), POLITE_MS);
  void agent.done.then(() => clearTimeout(force));
}
