import { withPrefix } from '../../drive/turn/messages.ts';
import { isDriverAlive } from '../../drive/turn/ownership.ts';
import { LOOP_NAME, loopFiles } from '../../state/loop-files.ts';
import { readState } from '../../state/read-state.ts';
import { ask } from '../ask.ts';
import type { CommandContext } from '../command.ts';
import { operateOn, STOP } from '../control/operator-commands.ts';
import { statusHere } from '../show/status.ts';
import { statusText } from '../show/status-text.ts';

/**
 * Asks a person what to do where a loop of this name runs already: watch it, stop it, begin another one beside it under
 * another name, or nothing. Gives the context to go on with, or null where nothing is to be begun. Without a terminal
 * nobody is asked, and the start refuses.
 */
export async function whileItRuns(context: CommandContext): Promise<CommandContext | null> {
  const { forPeople, err } = context;
  if (!forPeople || process.stdin.isTTY !== true || !isRunning(context)) return context;
  err(withPrefix(`the loop ${context.files.name ?? 'of this project'} runs already.`));
  for (;;) {
    const answer = await ask('[w]atch it, [s]top it after this iteration, [a]nother one beside it, [c]ancel: ');
    switch (answer?.toLowerCase()) {
      case 'w':
      case 'watch':
        await watch(context);
        return null;
      case 's':
      case 'stop':
        operateOn(context.files, STOP, context);
        return null;
      case 'a':
      case 'another': {
        const other = await another(context);
        if (other !== null) return other;
        break;
      }
      case undefined:
      case 'c':
      case 'cancel':
        return null;
      default:
    }
  }
}

function isRunning({ files }: CommandContext): boolean {
  const found = readState(files.state);
  return found.kind === 'loop' && found.state.status !== 'ended' && isDriverAlive(files, found.state) === true;
}

/** How it stands, and then what happens, until Ctrl+C. */
async function watch(context: CommandContext): Promise<void> {
  context.out(statusText(statusHere(context), context));
  context.err(withPrefix('what follows is its journal; Ctrl+C leaves it, and the loop goes on.'));
  const { LOGS_COMMAND } = await import('../history/logs.ts');
  await LOGS_COMMAND.run({ ...context, positionals: [], values: { follow: true } });
}

/** null for an answer that is no name. */
async function another(context: CommandContext): Promise<CommandContext | null> {
  const name = (await ask('its name: ')) ?? '';
  if (!LOOP_NAME.test(name)) {
    context.err(
      withPrefix(
        `"${name}" is no name of a loop: letters, digits, ".", "_" and "-", beginning with a letter or digit.`,
      ),
    );
    return null;
  }
  const other = {
    ...context,
    files: loopFiles(context.projectDir, name, context.env),
    values: { ...context.values, loop: name },
  };
  if (!isRunning(other)) return other;
  context.err(withPrefix(`a loop ${name} runs, too.`));
  return null;
}
