import { hiddenExit } from '../commands/hidden-exit.ts';
import { writtenCommands } from '../commands/missing/missing-programs.ts';
import { type KeyProblem, keyPath } from '../frontmatter/problem.ts';
import type { Frontmatter } from '../frontmatter/schema.ts';

/** Warns about checks whose exit code says nothing: those that always pass, and pipes that end in a filter. */
export function hiddenExits(settings: Frontmatter): KeyProblem[] {
  return writtenCommands(settings).flatMap(({ keys, run, isCheck }): KeyProblem[] => {
    const why = isCheck ? hiddenExit(run) : null;
    if (why === null) return [];
    return [{ keys, value: run, rule: 'hidden-exit', message: `${keyPath(keys)} ${why}`, severity: 'warning' }];
  });
}
