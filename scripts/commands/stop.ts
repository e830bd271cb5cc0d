import type { OperatorCommand } from '../../src/core/events.ts';
import type { LoopState } from '../../src/core/schema/state.ts';
import type { Operated } from '../../src/drive/operate.ts';
import { clientAlive } from '../../src/drive/turn/ownership.ts';
import { operatorCommand } from './operator-command.ts';

/** A stop as a loop is given it, and what is said of it. */
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
