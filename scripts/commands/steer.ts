import { randomUUID } from 'node:crypto';
import { RalphError } from '../../src/core/ralph-error.ts';
import { steering } from '../../src/core/steering.ts';
import { chosenLoop } from './live-loops.ts';
import { operatorCommand } from './operator-command.ts';

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
    return steering(randomUUID(), text, values['next'] === true ? 'next' : 'now');
  },
  answer: ({ after }) =>
    after.steering.at(-1)?.delivery === 'next'
      ? 'The agent is told with the next prompt.'
      : 'The agent is told at its next tool call, or with the next prompt.',
});
