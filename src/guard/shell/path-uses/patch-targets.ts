/** More files than this in one patch are not listed; the text of such a patch is far above the size limit. */
const MAX_TARGETS = 500;

/**
 * The files that a patch changes: `*** Update File: x` of apply_patch, `--- a/x` and `+++ b/x` and renames of a diff.
 * A diff's name counts with and without its first segment, since -p decides.
 */
export function patchTargets(text: string): string[] {
  const targets = new Set<string>();
  for (const line of text.split('\n')) {
    if (targets.size > MAX_TARGETS) break;
    const marked = /^\s*\*\*\* (?:Update|Add|Delete) File: (.+?)\s*$|^\s*\*\*\* Move to: (.+?)\s*$/.exec(line);
    const diffed =
      /^(?:---|\+\+\+) ([^\t]+?)\s*$|^(?:---|\+\+\+) ([^\t]+)\t|^(?:rename|copy) (?:from|to) (.+?)\s*$/.exec(line);
    const name = marked?.[1] ?? marked?.[2] ?? diffed?.[1] ?? diffed?.[2] ?? diffed?.[3];
    if (name === undefined || name === '/dev/null') continue;
    targets.add(name);
    if (diffed !== null && name.includes('/')) targets.add(name.replace(/^[^/]+\//, ''));
  }
  return [...targets];
}
