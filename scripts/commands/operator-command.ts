import type { OperatorCommand } from '../../src/core/events.ts';
import type { LoopState } from '../../src/core/schema/state.ts';
import { type Operated, operate } from '../../src/drive/operate.ts';
import type { Command, CommandContext } from './command.ts';

interface OperatorCommandParts {
  readonly name: string;
  readonly summary: string;
  readonly help: string;
  readonly usage?: string;
  readonly options?: Command['options'];
  /** Says what came of it. */
  readonly answer: (done: Operated) => string;
  readonly command: (context: CommandContext, state: LoopState) => OperatorCommand;
}

/** A command of the user to a live loop: one event for the engine, one answer. */
export function operatorCommand(parts: OperatorCommandParts): Command {
  return {
    name: parts.name,
    summary: parts.summary,
    usage: parts.usage ?? '',
    help: parts.help,
    options: parts.options ?? {},
    control: true,
    run(context) {
      const { files, env, now, forPeople, out } = context;
      const done = operate(files, env, now(), (state) => parts.command(context, state));
      const message = parts.answer(done);
      out(
        forPeople
          ? message
          : JSON.stringify({ success: true, message, status: done.after.status, iteration: done.after.iteration }),
      );
      return 0;
    },
  };
}
