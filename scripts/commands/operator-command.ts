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
  /** Whether its word is the path of a task folder or task file whose loop is meant. */
  readonly takesPath?: boolean;
  /** Says what came of it. */
  readonly answer: (done: Operated) => string;
  readonly command: (context: CommandContext, state: LoopState) => OperatorCommand;
}

/** A command of the user to a live loop: one event for the engine, one answer. */
export function operatorCommand(parts: OperatorCommandParts): Command {
  return {
    name: parts.name,
    summary: parts.summary,
    usage: parts.usage ?? (parts.takesPath ? '[PATH]' : ''),
    help: parts.help,
    options: parts.options ?? {},
    control: true,
    run(context) {
      const files = parts.takesPath ? chosenLoop(context, parts.name) : context.files;
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
