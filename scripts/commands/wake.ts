import { operatorCommand } from './operator-command.ts';

export const WAKE_COMMAND = operatorCommand({
  name: 'wake',
  summary: 'End an idle wait now.',
  help: 'A loop that waits because its agent was idle goes on at once with the next iteration.',
  command: () => ({ kind: 'wake' }),
  answer: ({ before }) =>
    before.status === 'waiting' ? 'The loop goes on now.' : `The loop does not wait; it is ${before.status}.`,
});
