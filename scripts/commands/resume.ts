import { operatorCommand } from './operator-command.ts';

export const RESUME_COMMAND = operatorCommand({
  name: 'resume',
  summary: 'Go on with a paused loop in its session.',
  help: 'The loop goes on at the next stop of its session: send any message there. The breaker is closed. A loop whose client is gone goes on with: main.cjs start --resume.',
  command: () => ({ kind: 'resume' }),
  answer: ({ before, after }) =>
    before.status === 'paused'
      ? 'The loop is resumed. Send any message in its session, and it goes on when that is answered.'
      : `The loop was not paused; it is ${after.status}.`,
});
