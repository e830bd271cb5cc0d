import { RE2JS } from 're2js';
import { toNativePattern } from '../core/re2-pattern.ts';

const MAX_LENGTH = 1000;

/** null when this is a pattern in RE2 syntax that the hooks can match too, else what is wrong with it. */
export function patternProblem(pattern: string): string | null {
  if (pattern.trim() === '') return 'must not be blank';
  if (pattern.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`;
  try {
    RE2JS.compile(pattern);
  } catch (error) {
    return `must be a pattern in RE2 syntax (${unknownToRe2(pattern) ?? plainReason(error)})`;
  }
  try {
    const { source, flags } = toNativePattern(pattern);
    new RegExp(source, flags);
    return null;
  } catch (error) {
    return `must be a pattern that the hooks can match (${(error as Error).message})`;
  }
}

/** What people know from other dialects, by its own name. */
function unknownToRe2(pattern: string): string | null {
  const bare = pattern.replace(/\\[^1-9k]/gs, '');
  if (/\(\?<?[=!]/.test(bare)) return 'RE2 has no look-around, such as (?=…) or (?!…)';
  if (/\\[1-9]|\\k[<{']/.test(bare)) return 'RE2 has no back-references, such as \\1';
  if (/\(\?>|[*+?}]\+/.test(bare)) return 'RE2 has no atomic groups and no possessive repetition, such as a++';
  return null;
}

function plainReason(error: unknown): string {
  return (error as Error).message.replace(/^error parsing regexp: /, '');
}
