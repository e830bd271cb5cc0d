import { quoted } from '../../src/core/quoted.ts';
import { RalphError } from '../../src/core/ralph-error.ts';
import type { CommandContext } from './command.ts';

/** Throws `usage` where `--arg` was given for a task that is only made now and can have declared no argument. */
export function refuseArguments({ values }: CommandContext, word: string): void {
  if (values['arg'] === undefined) return;
  throw new RalphError(
    'usage',
    `--arg gives a value to an argument that a task declares, and ${quoted(word)} is not there yet. Make it first (main.cjs draft or scaffold), declare the argument under "args:" in its RALPH.md, then run it.`,
  );
}
