import { parseDuration } from '../../core/duration.ts';
import { RalphError } from '../../core/ralph-error.ts';
import { RUNNER_TEXTS } from './texts.ts';

/** How long a runner waits for what, in milliseconds. */
export interface Patience {
  /** For a sign of life of an agent whose turn is not over. */
  readonly silenceMs: number;
  /** Before a run that broke is tried again, the first time. */
  readonly retryMs: number;
}

/**
 * RALPH_SILENCE (20m: a single command of the agent may be silent for long) and RALPH_RETRY_WAIT (5s). Throws RalphError
 * for a value that is no duration.
 */
export function patience(env: NodeJS.ProcessEnv): Patience {
  return {
    silenceMs: duration(env, 'RALPH_SILENCE', 20 * 60_000),
    retryMs: duration(env, 'RALPH_RETRY_WAIT', 5_000),
  };
}

function duration(env: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const value = env[name];
  if (!value) return otherwise;
  const milliseconds = parseDuration(value);
  if (milliseconds === null || milliseconds <= 0) throw new RalphError('usage', RUNNER_TEXTS.badDuration(name, value));
  return milliseconds;
}
