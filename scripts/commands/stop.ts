import { clientAlive } from '../../src/drive/hook/ownership.ts';
import { operatorCommand } from './operator-command.ts';

export const STOP_COMMAND = operatorCommand({
  name: 'stop',
  summary: 'Finish the iteration at work, then stop.',
  help: 'The agent ends its turn as usual and the loop ends there, as stopped. A loop that waits or is paused ends at once. Nothing is deleted: the loop lies in the archive.',
  command: (_context, state) => ({ kind: 'stop', clientAlive: clientAlive(state) }),
  answer: ({ after }) =>
    after.status === 'ended' ? 'The loop has stopped.' : 'The loop will stop when the iteration at work is over.',
});
