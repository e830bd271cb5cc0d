import type { OperatorCommand } from '../../src/core/events.ts';
import type { LoopState } from '../../src/core/schema/state.ts';
import { type Operated, operate } from '../../src/drive/operate.ts';
import type { LoopFiles } from '../../src/state/loop-files.ts';
import type { Command, CommandContext } from './command.ts';
import { chosenLoop } from './live-loops.ts';

interface OperatorCommandParts {
  readonly name: string;
  readonly summary: string;
  readonly help: string;
  readonly usage?: string;
  readonly options?: Command['options'];
  /** Which loop is meant; without it the one on the path that is the command's only word. */
  readonly loopOf?: (context: CommandContext) => LoopFiles;
  /** Says what came of it. */
  readonly answer: (done: Operated) => string;
  readonly command: (context: CommandContext, state: LoopState) => OperatorCommand;
}

/** For the help of every command that is about a live loop. */
export const WHICH_LOOP =
  'PATH is the task folder or task file of the loop; without it and without --loop, the only loop that is live.';

/** A command of the user to a live loop: one event for the engine, one answer. */
export function operatorCommand(parts: OperatorCommandParts): Command {
  return {
    name: parts.name,
    summary: parts.summary,
    usage: parts.usage ?? '[PATH] [--loop NAME]',
    help: parts.usage === undefined ? `${parts.help} ${WHICH_LOOP}` : parts.help,
    options: parts.options ?? {},
    control: true,
    run(context) {
      const files = parts.loopOf?.(context) ?? chosenLoop(context, parts.name);
      return operateOn(files, parts, context);
    },
  };
}

/** Gives the command to this loop, and says what came of it. */
export function operateOn(
  files: LoopFiles,
  parts: Pick<OperatorCommandParts, 'answer' | 'command'>,
  context: CommandContext,
): number {
  const { env, now, forPeople, out } = context;
  const done = operate(files, env, now(), (state) => parts.command(context, state));
  const message = parts.answer(done);
  const { status, iteration } = done.after;
  out(forPeople ? message : JSON.stringify({ success: true, message, status, iteration }));
  return 0;
}
