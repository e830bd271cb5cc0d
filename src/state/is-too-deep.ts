/**
 * Keys of others are kept, but not at any depth: JSON.stringify calls itself for each, and indents, so that 9 KB of
 * brackets become 32 MB, or an exception some thousand levels down. A state of ours has five.
 */
const MAX_DEPTH = 100;

/** Whether a value is nested deeper than anything that a file of ours holds. */
export function isTooDeep(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}
