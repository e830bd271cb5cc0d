/** Returns files that a patch changes. A diff's name counts with and without its first segment, because -p decides. */
export function patchTargets(text: string): string[] {
  const targets = new Set<string>();
  for (const line of text.split('\n')) {
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
