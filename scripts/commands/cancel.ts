import { operatorCommand } from './operator-command.ts';

export const CANCEL_COMMAND = operatorCommand({
  name: 'cancel',
  summary: 'End the loop now; the next tool call of its agent is refused.',
  help: 'The loop goes into the archive at once, as cancelled. An agent that is still at work is stopped at its next tool call, and its turn ends. The model cannot race it.',
  command: () => ({ kind: 'cancel' }),
  answer: () =>
    'The loop is cancelled and lies in the archive. An agent still at work is stopped at its next tool call.',
});
