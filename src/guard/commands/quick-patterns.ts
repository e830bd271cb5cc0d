/** Steps that the engine takes within a few milliseconds, even where each command is shown to it in eight ways. */
const MOST_STEPS = 1_000_000;

/**
 * Whether all these patterns, in RE2 syntax, surely search texts of this many characters in no time, so that nobody has
 * to watch the clock. A search that goes back takes at most one step for each place to begin at and for each way to end
 * every repetition; patterns with groups, which can nest repetitions, are never sure.
 */
export function areQuick(patterns: readonly string[], characters: number): boolean {
  let steps = 0;
  for (const pattern of patterns) steps += characters ** (1 + repetitions(pattern));
  return steps <= MOST_STEPS;
}

/** At least as many as the pattern has; what stands in brackets or behind a backslash may be counted too. */
function repetitions(pattern: string): number {
  let found = 0;
  for (let at = pattern.startsWith('(?i)') ? '(?i)'.length : 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    if (character === '(' || pattern.startsWith('\\Q', at)) return Number.POSITIVE_INFINITY;
    if (character === '\\') at += 1;
    else if ('*+?{'.includes(character)) found += 1;
  }
  return found;
}
