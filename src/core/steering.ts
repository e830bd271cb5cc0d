import type { OperatorCommand } from './events.ts';
import { RalphError } from './ralph-error.ts';

/** More than that is a task, not a word of steering: it belongs into the task file. */
const LIMIT = 20_000;

/** What the user tells the agent, as a command. Throws RalphError `usage` for a text that is too long. */
export function steering(id: string, text: string, delivery: 'now' | 'next'): OperatorCommand {
  if (text.length > LIMIT) {
    throw new RalphError(
      'usage',
      `the text has ${text.length} characters; at most ${LIMIT}. Put it into the task file.`,
    );
  }
  return { kind: 'steer', id, text, delivery };
}
