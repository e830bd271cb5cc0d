import { oneLine } from '../../text/quote.ts';
import { writtenCommands } from '../commands/missing/missing-programs.ts';
import { type KeyProblem, keyPath } from '../frontmatter/problem.ts';
import type { Frontmatter } from '../frontmatter/schema.ts';

const ALWAYS_PASSES = /(?:\|\||;)\s*(?:true|:|exit\s+0)\s*$/;
/** What ends a command before its end: `grep -r TODO src && exit 1 || true` fails as it should. */
const ENDS_BEFORE = /\bexit\s+(?!0\b)\S|\bset\s+-\w*e|\bset\s+-o\s+errexit\b/;
/** A filter at the end; none in a substitution, whose exit code is not used; `sort -c` is a check. */
const FILTER = /(?<!\|)\|&?\s*(tail|head|tee|cat|less|sort(?!\s+-\w*c)|sed|tr|cut|ts)\b[^|&;'"()`\n]*\s*$/i;

/** Warns about checks whose exit code says nothing: those that always pass, and pipes that end in a filter. */
export function hiddenExits(settings: Frontmatter): KeyProblem[] {
  return writtenCommands(settings).flatMap(({ keys, run, isCheck }): KeyProblem[] => {
    const why = isCheck ? hiddenExit(run) : null;
    if (why === null) return [];
    return [{ keys, value: run, rule: 'hidden-exit', message: `${keyPath(keys)} ${why}`, severity: 'warning' }];
  });
}

function hiddenExit(run: string): string | null {
  const [always] = ALWAYS_PASSES.exec(run) ?? [];
  if (always !== undefined && !ENDS_BEFORE.test(run)) return `exits with 0 whatever fails: remove "${always.trim()}".`;
  const [piped = '', filter] = FILTER.exec(run) ?? [];
  if (filter === undefined || run.includes('pipefail')) return null;
  return `has the exit code of "${filter}", whatever fails before it: remove "${oneLine(piped)}", or begin with "set -o pipefail;".`;
}
