/** Whether a dotted version is at least another; null, an unknown version, is not. */
export function atLeast(version: string | null, wanted: string): boolean {
  if (version === null) return false;
  const [have, need] = [version, wanted].map((text) => text.split(/[.-]/).map(Number));
  for (let index = 0; index < 3; index++) {
    const difference = (have?.[index] ?? 0) - (need?.[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
