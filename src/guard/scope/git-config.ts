import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The branch that a directory's repository is on; null where there is none, or it cannot be told. Never throws. */
export function currentBranch(directory: string): string | null {
  const git = gitDirectory(directory);
  const head = git === null ? null : textOf(join(git, 'HEAD'));
  return /^ref: refs\/heads\/(.+)$/m.exec(head ?? '')?.[1]?.trim() ?? null;
}

/** The branch that a bare `git push` of the current branch is meant for; null where the configuration names none. */
export function upstreamOf(directory: string): string | null {
  const git = gitDirectory(directory);
  const branch = currentBranch(directory);
  if (git === null || branch === null) return null;
  const common = textOf(join(git, 'commondir'))?.trim();
  const config = textOf(join(common === undefined ? git : resolve(git, common), 'config')) ?? '';
  let inBranch = false;
  let upstream: string | null = null;
  for (const line of config.split(/\r?\n/)) {
    const section = /^\s*\[(.*)\]\s*$/.exec(line)?.[1];
    if (section !== undefined) inBranch = section === `branch "${branch.replace(/["\\]/g, '\\$&')}"`;
    const merge = inBranch ? /^\s*merge\s*=\s*(?:refs\/heads\/)?(.+?)\s*$/i.exec(line)?.[1] : undefined;
    if (merge !== undefined) upstream = merge;
  }
  return upstream;
}

/** The folder of the repository, also of a linked worktree, whose `.git` is a file. */
function gitDirectory(directory: string): string | null {
  for (let at = resolve(directory); ; at = dirname(at)) {
    const path = join(at, '.git');
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) return path;
    const link = found?.isFile() ? /^gitdir: (.+)$/m.exec(textOf(path) ?? '')?.[1]?.trim() : undefined;
    if (link !== undefined) return resolve(at, link);
    if (at === dirname(at)) return null;
  }
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null; // what cannot be read names no branch
  }
}
