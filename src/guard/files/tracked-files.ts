import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Directories that are looked at upwards for a repository. */
const MAX_LEVELS = 40;
const NAME_LENGTH = 0xfff;

/**
 * Tells of an absolute path whether git tracks it, by the index of the repository around `directory`. Where there is
 * none, nothing is tracked; where its index is of a kind that is not read here, everything counts as tracked.
 */
export function trackedFiles(directory: string): (path: string) => boolean {
  const top = topOf(directory);
  if (top === null) return () => false;
  const index = readIndex(join(top, '.git'));
  if (index === null) return () => true;
  return (path) => path.startsWith(`${top}/`) && holds(index, path.slice(top.length + 1));
}

function topOf(directory: string): string | null {
  let at = directory;
  for (let level = 0; level < MAX_LEVELS; level += 1) {
    if (existsSync(join(at, '.git'))) return at;
    const up = dirname(at);
    if (up === at) return null;
    at = up;
  }
  return null;
}

/** Of a larger index nothing is known; it belongs to some two million files. */
const MAX_INDEX = 256 * 1024 * 1024;

/** null for an index that is missing, no plain file, or of another version than 2, which writes every path out. */
function readIndex(git: string): Buffer | null {
  try {
    const path = join(repositoryOf(git), 'index');
    const stat = statSync(path);
    if (!stat.isFile() || stat.size > MAX_INDEX) return null;
    const index = readFileSync(path);
    return index.toString('latin1', 0, 4) === 'DIRC' && index.readUInt32BE(4) === 2 ? index : null;
  } catch {
    return null;
  }
}

/** In a worktree, `.git` is a file that names the directory. */
function repositoryOf(git: string): string {
  let text: string;
  try {
    if (!statSync(git).isFile()) return git; // a directory, as in most repositories
    text = readFileSync(git, 'utf8');
  } catch {
    return git;
  }
  const [, path = ''] = /^gitdir: (.+)$/m.exec(text) ?? [];
  return resolve(dirname(git), path);
}

/** An entry ends with two bytes of flags, the path's length in their lower twelve bits, the path and a zero. */
function holds(index: Buffer, path: string): boolean {
  const length = Buffer.byteLength(path);
  for (let at = index.indexOf(`${path}\0`); at !== -1; at = index.indexOf(`${path}\0`, at + 1)) {
    if (at >= 2 && (index.readUInt16BE(at - 2) & NAME_LENGTH) === Math.min(length, NAME_LENGTH)) return true;
  }
  return false;
}
