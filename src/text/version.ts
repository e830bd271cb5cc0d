/** Returns whether a dotted version is at least another; false for null, an unknown version. */
export function atLeast(version: string | null, wanted: string): boolean {
  if (version === null) return false;
  const [have, need] = [version, wanted].map((text) => text.split(/[.-]/).map(Number));
  for (let index = 0; index < 3; index++) {
    const difference = (have?.[index] ?? 0) - (need?.[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
