import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { requestAllowance } from '../../drive/control/allow-request.ts';
import { continueNow, noLiveLoop, operate, stopCommand } from '../../drive/control/operate.ts';
import { restoreMidTurn } from '../../drive/control/restore-protected.ts';
import { followLoop } from '../../drive/records/live-events.ts';
import { storedEnd } from '../../drive/status/end-report.ts';
import { standing } from '../../drive/status/ended-loop.ts';
import { type OperatorCommand, steering } from '../../engine/events.ts';
import { exitCode } from '../../engine/exit-code.ts';
import { type LoopFiles, readLoop, readState } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import type { LiveControls } from '../../term/live/live-view.ts';
import { chosenLoop } from '../choose-loop.ts';
import type { Command, CommandContext } from '../command.ts';
import { loopView } from '../runner-lines.ts';

const POLL_MS = 300;
/** Polls after the end of a loop during which its runner can still report it. */
const MOST_POLLS = 3;

export const ATTACH_COMMAND: Command = {
  name: 'attach',
  usage: '[NAME | PATH] [--loop NAME]',
  help: 'Shows a running loop live in another terminal, however it was started. Enter sends the agent a message, a and Enter allow the call that was denied last, Esc pauses the loop, Ctrl+X stops it after the iteration, and Ctrl+C leaves the view without touching the loop. In a pipe it prints plain lines until the loop ends, and it exits with the exit code of a loop that has ended.',
  example: 'ralph-loop attach docs',
  control: true,
  run(context) {
    return attach(context, chosenLoop(context, 'attach'));
  },
};

/** Shows the loop until it ends or the user leaves the view. */
export async function attach(context: CommandContext, files: LoopFiles): Promise<number> {
  const found = readState(files.state);
  if (found.kind !== 'loop') throw noLiveLoop(files, found.kind);
  if (found.state.status === 'ended') throw noLiveLoop(files, 'absent');
  const { loopId } = found.state;
  let leaves = false;
  const left = (): void => {
    leaves = true;
  };
  const view = await loopView(context, true);
  const news = followLoop(files, found.state);
  process.once('SIGINT', left);
  try {
    let ended = false;
    for (let gone = 0; !ended && !leaves; ) {
      if (readLoop(files, loopId) === null) gone += 1;
      for (const event of news()) {
        view.tell(event);
        ended ||= event.type === 'run.ended' && gone > 0;
      }
      view.live?.(controlsOf(context, files, left));
      // The driver reports the end after archiving the state, if it still can.
      if (!ended && gone > MOST_POLLS) {
        view.tell(endOf(files, loopId));
        ended = true;
      }
      if (!ended) await delay(POLL_MS);
    }
    return ended ? exitCode(standing(files, loopId).status) : 0;
  } finally {
    process.off('SIGINT', left);
    view.close();
  }
}

/** Returns the end of a loop whose driver did not report it. */
function endOf(files: LoopFiles, loopId: string) {
  const { status, state, message } = standing(files, loopId);
  const ended = state?.status === 'ended' ? state : null;
  const report = ended && storedEnd(files, ended)?.report;
  return {
    type: 'run.ended',
    status,
    message:
      message === null ? `The loop is ${status}.` : show(message, { name: files.name, mode: state?.mode ?? 'hook' }),
    code: exitCode(status),
    iterations: state?.iteration ?? null,
    costUsd: state?.usage.costUsd ?? null,
    ...(report && { report, ...(ended?.ended.text !== undefined && { text: ended.ended.text }) }),
  } as const;
}

/** Returns the keys that another process can offer, each for one of the control commands. */
function controlsOf({ env, now }: CommandContext, files: LoopFiles, left: () => void): LiveControls {
  const give = (command: OperatorCommand): void => void operate(files, env, now(), () => command);
  return {
    say: (text, delivery) => give(steering(randomUUID(), text, delivery)),
    goOn: (text) => {
      if (text !== '') give(steering(randomUUID(), text, 'next'));
      give({ kind: 'resume' });
    },
    allow: (call) => requestAllowance(files, call),
    interrupt: () => give({ kind: 'pause' }),
    wake: () => void operate(files, env, now(), continueNow),
    stop: () => void operate(files, env, now(), stopCommand, { restore: restoreMidTurn }),
    press: left,
  };
}
