import { isDriverAlive } from '../../drive/control/ownership.ts';
import { LOOP_NAME, loopFiles, readState } from '../../state/loop-files.ts';
import { withPrefix } from '../../state/process/program.ts';
import { ask } from '../ask.ts';
import type { CommandContext } from '../command.ts';
import { OPERATIONS, operateOn } from './operator-commands.ts';

/** Asks what to do if the loop is already running. Returns the context to continue with, or an exit code instead. */
export async function handleRunningLoop(context: CommandContext): Promise<CommandContext | number> {
  const { mayAsk, err } = context;
  if (!mayAsk || !isRunning(context)) return context;
  err(withPrefix(`The loop ${context.files.name ?? 'of this project'} is already running.`));
  for (;;) {
    const answer = await ask(
      '[w]atch it, [s]top it after this iteration, start [a]nother one beside it, [l]eave it alone: ',
    );
    const choice = answer === null ? 'leave' : answer.toLowerCase();
    if (['w', 'watch'].includes(choice)) return (await import('./attach.ts')).attach(context, context.files);
    if (['s', 'stop'].includes(choice)) operateOn(context.files, OPERATIONS.stop, context);
    else if (['a', 'another'].includes(choice)) {
      const other = await another(context);
      if (other !== null) return other;
      continue;
    } else if (!['l', 'leave'].includes(choice)) continue;
    return 1;
  }
}

function isRunning({ files }: CommandContext): boolean {
  const found = readState(files.state);
  return found.kind === 'loop' && found.state.status !== 'ended' && isDriverAlive(files, found.state) === true;
}

/** Asks for the name of another loop. Returns null if it is invalid or also running. */
async function another(context: CommandContext): Promise<CommandContext | null> {
  const { projectDir, env, values, err } = context;
  const name = (await ask('its name: ')) ?? '';
  if (!LOOP_NAME.test(name)) {
    err(withPrefix(`Invalid loop name "${name}": use letters, digits, ".", "_" and "-".`));
    return null;
  }
  const other = { ...context, files: loopFiles(projectDir, name, env), values: { ...values, loop: name } };
  if (!isRunning(other)) return other;
  err(withPrefix(`The loop ${name} is already running.`));
  return null;
}
