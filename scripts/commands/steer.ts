import { randomUUID } from 'node:crypto';
import { RalphError } from '../../src/core/ralph-error.ts';
import { chosenLoop } from './live-loops.ts';
import { operatorCommand } from './operator-command.ts';

/** More than that is a task, not a word of steering: it belongs into the task file. */
const LIMIT = 20_000;

export const STEER_COMMAND = operatorCommand({
  name: 'steer',
  summary: 'Tell the agent something in the middle of its work.',
  usage: '[--path PATH | --loop NAME] [--next] TEXT',
  help: 'The text reaches the agent at its next tool call, or with the next prompt when it calls no tool before. With --next it waits for the next prompt. Each text is delivered exactly once, in order. Without --path and --loop it goes to the only loop that is live.',
  options: {
    next: { type: 'boolean', help: 'Deliver it with the next prompt, not before.' },
    path: { type: 'string', short: 'p', value: 'PATH', help: 'The task folder or task file of the loop.' },
  },
  loopOf: (context) => {
    const { path, loop } = context.values;
    if (path !== undefined && loop !== undefined) {
      throw new RalphError('usage', 'steer takes --path or --loop, not both.');
    }
    return chosenLoop(context, 'steer --path', typeof path === 'string' ? path : null);
  },
  command: ({ positionals, values }) => {
    const text = positionals.join(' ').trim();
    if (text === '') throw new RalphError('usage', 'say what to tell the agent: main.cjs steer "TEXT".');
    if (text.length > LIMIT) {
      throw new RalphError(
        'usage',
        `the text has ${text.length} characters; at most ${LIMIT}. Put it into the task file.`,
      );
    }
    return { kind: 'steer', id: randomUUID(), text, delivery: values['next'] === true ? 'next' : 'now' };
  },
  answer: ({ after }) =>
    after.steering.at(-1)?.delivery === 'next'
      ? 'The agent is told with the next prompt.'
      : 'The agent is told at its next tool call, or with the next prompt.',
});
