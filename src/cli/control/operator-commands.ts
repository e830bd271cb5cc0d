import { randomUUID } from 'node:crypto';
import { type Operated, operate } from '../../drive/control/operate.ts';
import { clientAlive } from '../../drive/turn/ownership.ts';
import { type OperatorCommand, steering } from '../../engine/events.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { processChain, terminalOf } from '../../state/process/ancestors.ts';
import { show } from '../../state/process/program.ts';
import { advise, RalphError } from '../../text/message.ts';
import { chosenLoop } from '../choose-loop.ts';
import { type Command, type CommandContext, options } from '../command.ts';

interface OperatorCommandParts extends Omit<Command, 'usage' | 'control' | 'run'>, Partial<Pick<Command, 'usage'>> {
  /** Chooses the loop; by default the one on the path that is the command's only word. */
  readonly loopOf?: (context: CommandContext) => LoopFiles;
  readonly answer: (done: Operated) => string;
  readonly command: (context: CommandContext, state: LoopState) => OperatorCommand;
}

/** For the help of every command that is about a live loop. */
export const WHICH_LOOP =
  'PATH is the task folder or file of the loop; without PATH and --loop the command applies to the only live loop.';

/** Defines a command to a live loop: one event for the engine, one answer. */
export function operatorCommand(parts: OperatorCommandParts): Command {
  const { name, summary, usage, help, example, options = {} } = parts;
  return {
    ...{ name, summary, example, options },
    usage: usage ?? '[PATH] [--loop NAME]',
    help: usage === undefined ? `${help} ${WHICH_LOOP}` : help,
    control: true,
    run(context) {
      const files = parts.loopOf?.(context) ?? chosenLoop(context, name);
      return operateOn(files, parts, context);
    },
  };
}

export function operateOn(
  files: LoopFiles,
  parts: Pick<OperatorCommandParts, 'answer' | 'command'>,
  context: CommandContext,
): number {
  const { env, now, answer } = context;
  const from = { terminal: terminalOf(process.pid), processes: processChain() };
  const done = operate(files, env, now(), (state) => parts.command(context, state), from);
  const message = parts.answer(done);
  const { status, iteration } = done.after;
  answer({ success: true, message, status, iteration }, () => message);
  return 0;
}

export const STOP = {
  command: (_context: unknown, state: LoopState): OperatorCommand => ({
    kind: 'stop',
    clientAlive: clientAlive(state),
  }),
  answer: ({ after }: Pick<Operated, 'after'>): string =>
    after.status === 'ended' ? 'The loop has stopped.' : 'The loop will stop after the current iteration.',
};

export const STOP_COMMAND = operatorCommand({
  name: 'stop',
  summary: 'Finish the current iteration, then stop the loop.',
  help: 'Ends the loop as stopped when the current iteration is over; a waiting or paused loop ends at once. The archive keeps its state.',
  example: 'ralph-loop stop --loop docs',
  ...STOP,
});

export const CANCEL_COMMAND = operatorCommand({
  name: 'cancel',
  summary: 'End a loop now and refuse further tool calls.',
  help: 'Archives the loop at once, as cancelled. A working agent is stopped at its next tool call.',
  example: 'ralph-loop cancel --loop docs',
  command: () => ({ kind: 'cancel' }),
  answer: () => 'The loop is cancelled and archived. An agent still at work is stopped at its next tool call.',
});

export const PAUSE_COMMAND = operatorCommand({
  name: 'pause',
  summary: 'Pause a loop until it is resumed.',
  help: 'Pauses the loop: its session may stop at any time, and nothing is counted. ralph-loop resume continues and keeps the counters.',
  example: 'ralph-loop pause --loop docs',
  command: () => ({ kind: 'pause' }),
  answer: ({ after }) =>
    after.status === 'paused'
      ? show(advise('The loop is paused.', 'Resume', 'resume'), after)
      : `The loop is ${after.status}.`,
});

export const WAKE_COMMAND = operatorCommand({
  name: 'wake',
  summary: 'End the wait of a loop now.',
  help: 'Starts the next iteration of a loop that is waiting after an idle iteration or between two iterations.',
  example: 'ralph-loop wake --loop docs',
  command: () => ({ kind: 'wake' }),
  answer: ({ before }) =>
    before.status === 'waiting' ? 'The next iteration starts now.' : `The loop is not waiting; it is ${before.status}.`,
});

export const STEER_COMMAND = operatorCommand({
  name: 'steer',
  summary: 'Send a message to the working agent.',
  usage: '[options] TEXT',
  help: 'Delivers TEXT once, in order, at the next tool call of the agent or with its next prompt. Without --path and --loop it goes to the only live loop.',
  example: 'ralph-loop steer "Leave the public API as it is"',
  options: options({
    next: 'Deliver the message with the next prompt.',
    'p, path PATH': 'Task folder or task file of the loop.',
  }),
  loopOf: (context) => {
    const { path, loop } = context.values;
    if (path !== undefined && loop !== undefined) {
      throw new RalphError('usage', 'steer takes --path or --loop, not both.');
    }
    return chosenLoop(context, 'steer --path', typeof path === 'string' ? path : null);
  },
  command: ({ positionals, values }) => {
    const text = positionals.join(' ').trim();
    if (text === '') throw new RalphError('usage', advise('the message is missing.', 'Usage', 'steer "TEXT"'));
    return steering(randomUUID(), text, values['next'] === true ? 'next' : 'now');
  },
  answer: ({ after }) =>
    after.steering.at(-1)?.delivery === 'next'
      ? 'The agent receives it with its next prompt.'
      : 'The agent receives it at its next tool call, or with its next prompt.',
});
