import { operatorCommand } from './operator-command.ts';

export const WAKE_COMMAND = operatorCommand({
  name: 'wake',
  summary: 'End a wait now.',
  help: 'A loop that waits, because its agent was idle or for the delay between two iterations, goes on at once with the next one.',
  command: () => ({ kind: 'wake' }),
  answer: ({ before }) =>
    before.status === 'waiting' ? 'The loop goes on now.' : `The loop does not wait; it is ${before.status}.`,
});
