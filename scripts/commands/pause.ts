import { operatorCommand } from './operator-command.ts';

export const PAUSE_COMMAND = operatorCommand({
  name: 'pause',
  summary: 'Let the session rest until resume.',
  help: 'From now on every stop is allowed and nothing is counted. main.cjs resume goes on with the counters kept.',
  command: () => ({ kind: 'pause' }),
  answer: ({ after }) =>
    after.status === 'paused' ? 'The loop is paused. Go on with: main.cjs resume.' : `The loop is ${after.status}.`,
});
