import { operate } from '../../drive/control/operate.ts';
import { isDriverAlive } from '../../drive/turn/ownership.ts';
import { adoptFourKeys } from '../../engine/initial-state.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { archiveState, quarantine } from '../../state/archive.ts';
import { dropContract, type LoopFiles, readState } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import { DEFAULT_TASK } from '../../task/task-file.ts';
import { RalphError } from '../../text/message.ts';
import { askInPerson } from '../ask.ts';
import { chosenLoop } from '../choose-loop.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { WHICH_LOOP } from './operator-commands.ts';

export const RESET_COMMAND: Command = {
  name: 'reset',
  summary: 'Archive a loop in any state, so that a new one can start.',
  usage: '[PATH] [--loop NAME] [--force]',
  help: `Moves the state of a loop into the archive, as cancelled; nothing is deleted. It refuses while the client or the runner of the loop is alive. ${WHICH_LOOP}`,
  example: 'ralph-loop reset --force',
  options: options({ force: 'Reset a loop whose client is alive; asks at your terminal.' }),
  control: true,
  run(context) {
    const message = resetLoop(context);
    if (message === null) {
      context.err('ralph-loop: nothing was reset.');
      return 1;
    }
    context.answer({ success: true, message }, () => message);
    return 0;
  },
};

const NEWER = (path: string): string =>
  `the state file ${path} was written by a newer ralph-loop. Update this one, or move that file away.`;

/** Returns the answer; null if the user did not agree. */
function resetLoop(called: CommandContext): string | null {
  const files = chosenLoop(called, 'reset');
  const context = { ...called, files };
  const { env, now, values } = context;
  const found = readState(files.state);
  switch (found.kind) {
    case 'absent':
      return 'There was no state to reset.';
    case 'newer':
      throw new RalphError('state-newer', NEWER(files.state));
    case 'four-keys':
    case 'corrupt':
      return putAside(context);
    case 'loop':
      if (isDriverAlive(files, found.state) === true && values['force'] !== true) {
        const { mode, clientPid } = found.state;
        const who = mode === 'runner' ? 'the runner of this loop' : `the client of this loop (process ${clientPid})`;
        const advice = [
          { verb: 'End the loop', command: 'stop' },
          { verb: 'Or force the reset', command: 'reset', options: { force: true } },
        ] as const;
        throw new RalphError('refused', show({ text: `Cannot reset: ${who} is alive.`, advice }, found.state));
      }
      if (isDriverAlive(files, found.state) === true && !agreesToReset(files, found.state)) return null;
      operate(files, env, now(), () => ({ kind: 'cancel' }));
      return `The loop was reset. Its state is in ${files.archiveDir}.`;
    default:
      return found satisfies never;
  }
}

function agreesToReset(files: LoopFiles, { taskPath, iteration, maxIterations }: LoopState): boolean {
  const heading = 'This loop is running, and a reset ends it as cancelled:';
  const lines = [`  task        ${taskPath}`, `  iterations  ${iteration} of ${maxIterations} done`];
  return askInPerson(files, { command: 'reset --force', heading, lines, question: 'Reset it?' }) !== null;
}

/** A state that the engine cannot work on goes into the archive as it is. */
function putAside({ files, now }: CommandContext): string {
  const at = now();
  const path = withState(files, LOCK_WAIT, (current) => {
    if (current.kind === 'corrupt') {
      // Moved by this: the state file is gone afterwards.
      return { next: 'keep', result: quarantine(files, at, 'corrupt') };
    }
    if (current.kind !== 'four-keys') return { next: 'keep', result: null };
    const adopted = adoptFourKeys(current.file, {
      ...{ loopId: `four-keys-${current.file.startedAt}`, name: files.name, mode: 'hook', taskPath: DEFAULT_TASK },
      maxIterations: 100,
    });
    const ended = { at, as: 'cancelled', message: 'reset by the user.', verified: false } as const;
    return { next: 'remove', result: archiveState(files, { ...adopted, status: 'ended', ended }, at, 'cancelled') };
  });
  dropContract(files);
  return path === null ? 'There was no state to reset.' : `The state was reset. It is in ${path}.`;
}
