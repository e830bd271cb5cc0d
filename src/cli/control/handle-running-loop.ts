import { isDriverAlive } from '../../drive/control/ownership.ts';
import { readState } from '../../state/loop-files.ts';
import { withPrefix } from '../../state/process/program.ts';
import { ask } from '../ask.ts';
import type { CommandContext } from '../command.ts';
import { OPERATIONS, operateOn } from './operator-commands.ts';

/** Asks what to do if the loop is already running. Returns the context to continue with, or an exit code instead. */
export async function handleRunningLoop(context: CommandContext): Promise<CommandContext | number> {
  const { mayAsk, err, files } = context;
  if (!mayAsk || !isRunning(context)) return context;
  err(withPrefix(`The loop ${files.name ?? 'of this project'} is already running; --loop NAME starts another.`));
  for (;;) {
    const answer = await ask('[w]atch it, [s]top it after this iteration, [l]eave it alone: ');
    const choice = answer === null ? 'leave' : answer.toLowerCase();
    if (['w', 'watch'].includes(choice)) return (await import('./attach.ts')).attach(context, files);
    if (['s', 'stop'].includes(choice)) operateOn(files, OPERATIONS.stop, context);
    else if (!['l', 'leave'].includes(choice)) continue;
    return 1;
  }
}

function isRunning({ files }: CommandContext): boolean {
  const found = readState(files.state);
  return found.kind === 'loop' && found.state.status !== 'ended' && isDriverAlive(files, found.state) === true;
}
