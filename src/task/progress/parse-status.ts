/** What `git status --porcelain=v2 --branch -z` says. Paths are relative to the top of the work tree. */
export interface GitStatus {
  /** The commit of HEAD, or `(initial)`. */
  readonly head: string;
  /** What the index has that HEAD has not: modes and object names, by path. */
  readonly index: Readonly<Record<string, string>>;
  /** Files of the work tree that are not as the index has them. */
  readonly dirty: readonly string[];
}

/** `1 XY sub mH mI mW hH hI path` and `u XY sub m1 m2 m3 mW h1 h2 h3 path` */
const CHANGED = /^1 (.)(.) \S+ \d+ (\d+) \d+ \S+ (\S+) (.+)$/s;
const UNMERGED = /^u (\S+) \S+ (\d+ \d+ \d+ \d+ \S+ \S+ \S+) (.+)$/s;

/** Reads the answer of a git that was told `--no-renames`; null where it is none. */
export function parseStatus(text: string): GitStatus | null {
  let head: string | null = null;
  const index: Record<string, string> = Object.create(null);
  const dirty: string[] = [];
  for (const line of text.split('\0')) {
    if (line.startsWith('# branch.oid ')) head = line.slice('# branch.oid '.length);
    if (line === '' || line.startsWith('#')) continue;
    const [, staged, changed, mode, object, path] = CHANGED.exec(line) ?? [];
    const [, , stages, unmerged] = UNMERGED.exec(line) ?? [];
    if (path !== undefined) {
      if (staged !== '.') index[path] = `${staged} ${mode} ${object}`;
      if (changed !== '.') dirty.push(path);
    } else if (unmerged !== undefined) {
      index[unmerged] = `u ${stages}`;
      dirty.push(unmerged);
    } else return null;
  }
  return head === null ? null : { head, index: { ...index }, dirty };
}
