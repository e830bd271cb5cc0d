import { randomUUID } from 'node:crypto';
import { type Operated, operate } from '../../drive/control/operate.ts';
import { clientAlive } from '../../drive/turn/ownership.ts';
import { type OperatorCommand, steering } from '../../engine/events.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { chosenLoop } from '../choose-loop.ts';
import { type Command, type CommandContext, options } from '../command.ts';

interface OperatorCommandParts {
  readonly name: string;
  readonly summary: string;
  readonly help: string;
  readonly usage?: string;
  readonly options?: Command['options'];
  /** Chooses the loop; by default the one on the path that is the command's only word. */
  readonly loopOf?: (context: CommandContext) => LoopFiles;
  /** Returns the result in words. */
  readonly answer: (done: Operated) => string;
  readonly command: (context: CommandContext, state: LoopState) => OperatorCommand;
}

/** For the help of every command that is about a live loop. */
export const WHICH_LOOP =
  'PATH is the task folder or task file of the loop; without it and without --loop, the only loop that is live.';

/** Defines a command to a live loop: one event for the engine, one answer. */
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

/** Gives the command to this loop and prints the result. */
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

/** The stop command and its answer. */
export const STOP = {
  command: (_context: unknown, state: LoopState): OperatorCommand => ({
    kind: 'stop',
    clientAlive: clientAlive(state),
  }),
  answer: ({ after }: Operated): string =>
    after.status === 'ended' ? 'The loop has stopped.' : 'The loop will stop when the iteration at work is over.',
};

export const STOP_COMMAND = operatorCommand({
  name: 'stop',
  summary: 'Finish the iteration at work, then stop.',
  help: 'The agent ends its turn as usual and the loop ends there, as stopped. A loop that waits or is paused ends at once. Nothing is deleted: the loop lies in the archive.',
  ...STOP,
});

export const CANCEL_COMMAND = operatorCommand({
  name: 'cancel',
  summary: 'End the loop now; the next tool call of its agent is refused.',
  help: 'The loop goes into the archive at once, as cancelled. An agent that is still at work is stopped at its next tool call, and its turn ends. The model cannot race it.',
  command: () => ({ kind: 'cancel' }),
  answer: () =>
    'The loop is cancelled and lies in the archive. An agent still at work is stopped at its next tool call.',
});

export const PAUSE_COMMAND = operatorCommand({
  name: 'pause',
  summary: 'Let the session rest until resume.',
  help: 'From now on every stop is allowed and nothing is counted. ralph-loop resume goes on with the counters kept.',
  command: () => ({ kind: 'pause' }),
  answer: ({ after }) =>
    after.status === 'paused' ? 'The loop is paused. Go on with: ralph-loop resume.' : `The loop is ${after.status}.`,
});

export const WAKE_COMMAND = operatorCommand({
  name: 'wake',
  summary: 'End a wait now.',
  help: 'A loop that waits, because its agent was idle or for the delay between two iterations, goes on at once with the next one.',
  command: () => ({ kind: 'wake' }),
  answer: ({ before }) =>
    before.status === 'waiting' ? 'The loop goes on now.' : `The loop does not wait; it is ${before.status}.`,
});

export const STEER_COMMAND = operatorCommand({
  name: 'steer',
  summary: 'Tell the agent something in the middle of its work.',
  usage: '[--path PATH | --loop NAME] [--next] TEXT',
  help: 'The text reaches the agent at its next tool call, or with the next prompt when it calls no tool before. With --next it waits for the next prompt. Each text is delivered exactly once, in order. Without --path and --loop it goes to the only loop that is live.',
  options: options({
    next: 'Deliver it with the next prompt, not before.',
    'p, path PATH': 'The task folder or task file of the loop.',
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
    if (text === '') throw new RalphError('usage', 'say what to tell the agent: ralph-loop steer "TEXT".');
    return steering(randomUUID(), text, values['next'] === true ? 'next' : 'now');
  },
  answer: ({ after }) =>
    after.steering.at(-1)?.delivery === 'next'
      ? 'The agent is told with the next prompt.'
      : 'The agent is told at its next tool call, or with the next prompt.',
});
