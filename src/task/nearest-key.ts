/** The known key that is spelt most like this one, and whether it is near enough to be what was meant. */
export function nearestKey(
  key: string,
  known: readonly string[],
): { readonly key: string; readonly near: boolean } | null {
  const wanted = snakeCase(key).slice(0, 64);
  let best: { key: string; distance: number } | null = null;
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate);
    if (best === null || distance < best.distance) best = { key: candidate, distance };
  }
  return best && { key: best.key, near: best.distance <= Math.max(2, Math.floor(best.key.length / 3)) };
}

/** `maxDelay`, `max-delay` and `MAX_DELAY` as `max_delay`. */
export function snakeCase(key: string): string {
  return key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
}

export function camelCase(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Insertions, deletions, replacements and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
