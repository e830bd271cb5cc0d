import { forLoop } from '../../term/for-loop.ts';
import { formatDuration } from '../../text/duration.ts';

/** What the runner says to people: what happened, what to do next. */
export const RUNNER_TEXTS = {
  held: (pid: number): string =>
    `a runner already works on this loop (process ${pid}). See it: main.cjs status. End it: main.cjs stop or cancel. Run another beside it: run --loop NAME.`,
  heldElsewhere:
    'a runner on another machine, or one that has just ended, holds this loop. Try again in half a minute.',
  leaseLost: 'another runner has taken this loop over, or its lease could not be renewed; this one ends.',
  takenAway: (message: string): string =>
    `${message} Somebody has deleted it while the agent worked, and the loop's state with it. Put the project back as it was, then begin anew: main.cjs run.`,
  finishing: 'finishing this iteration, then the loop stops. Ctrl+C once more cancels it now.',
  stopping: 'the loop stops.',
  wokenByUser: 'going on now. Ctrl+C once more stops the loop.',
  pausedByUser:
    'the loop is paused. It goes on here after: main.cjs resume, in another terminal. Ctrl+C leaves it paused.',
  interrupted:
    'interrupted; the loop is paused. Enter goes on, with what you write before it; main.cjs resume in another terminal does so too. Ctrl+C leaves it paused.',
  left: 'this runner has left the loop, which is still there. Go on with: main.cjs run --resume.',
  pausedThere: 'Go on with: main.cjs run --resume.',
  waitingForLimit: (until: string): string =>
    `a rate limit holds until ${until}; the loop goes on then. Ctrl+C goes on now, twice stops.`,
  retry: (message: string, delayMs: number, nth: number, most: number): string =>
    `${message} Trying again in ${formatDuration(Math.ceil(delayMs / 1000) * 1000)} (${nth} of ${most}).`,
  gaveUp: (message: string): string => `stopped: ${message} Go on: main.cjs run --resume.`,
  refused: (kind: 'authentication' | 'billing' | 'invalid-request' | 'unguarded', message: string): string => {
    const mend = {
      authentication: 'Log in again (claude, then /login), or mend the API key, then:',
      billing: 'Mend the account, then:',
      'invalid-request': 'Mend the model or the settings, then:',
      unguarded: 'Nothing holds the agent to the guardrails, so the loop is over. Mend the client, then:',
    };
    return `stopped: ${message} ${mend[kind]} main.cjs run --resume.`;
  },
  restored: (moved: string): string =>
    `the loop's state had been rewritten from outside. It was put back as the runner knows it; what was found lies in ${moved}.`,
  lostLines: (lines: number): string =>
    `${lines === 1 ? '1 line' : `${lines} lines`} of the agent's stream could not be read and ${lines === 1 ? 'was' : 'were'} left out.`,
  badDuration: (name: string, value: string): string =>
    `${name} is "${value}": give a duration such as 90s or 5m, longer than 0.`,
} as const;

/** What the engine advises, made to mean a runner's loop. */
export function inRunner(message: string, name: string | null): string {
  return forLoop(message, { name, mode: 'runner' });
}
