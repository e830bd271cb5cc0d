import { oneLine } from '../../text/quote.ts';

const ALWAYS_PASSES =
  /(?:\|\||;|(?<!&&\s*|\\)\n)\s*(?:true|:|exit\s+0|(?:echo|printf)\b[^|&;()<>{}`\n]*);?\s*$|(?<![&>|])&\s*$/;
/** What ends a command before its end: `grep -r TODO src && exit 1 || true` fails as it should. */
const ENDS_BEFORE = /\bexit\s+(?!0\b)\S|\bset\s(?:[^;&|\n]*\s)?(?:-\w*e|errexit\b)/;
/** A filter at the end; none in a substitution, whose exit code is not used; `sort -c` is a check. */
const FILTER = /(?<!\|)\|&?\s*(tail|head|tee|cat|less|sort(?!\s+-\w*c)|sed|tr|cut|ts)\b[^|&;'"()`\n]*\s*$/i;
const COMMENT = /(?<=^|\s)#[^'"\n]*$/gm;
/** Filters that may cut failures from what a runner counts. */
const CUTS = /^(?:tail|head|sed|cut)$/i;

/**
 * Returns why the exit code of a check says nothing, and what to do: it always passes, or is that of a filter; null if it
 * counts. With `isCounted`, its runner has counted tests, which decide where nothing is cut off.
 */
export function hiddenExit(written: string, isCounted = false): string | null {
  const run = written.replace(COMMENT, '');
  const always = isCounted ? null : ALWAYS_PASSES.exec(run);
  const isQuoted = ((always && run.slice(0, always.index).match(/['"]/g)) ?? []).length % 2 === 1;
  if (always !== null && !isQuoted && !ENDS_BEFORE.test(run))
    return `exits with 0 whatever fails: remove "${oneLine(always[0])}".`;
  const [piped = '', filter] = FILTER.exec(run) ?? [];
  if (filter === undefined || run.includes('pipefail') || (isCounted && !CUTS.test(filter))) return null;
  return `has the exit code of "${filter}", whatever fails before it: remove "${oneLine(piped)}", or begin with "set -o pipefail;".`;
}
