import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

interface Repository {
  readonly top: string;
  /** Directory with the index and HEAD; in a linked worktree `.git` is a file that names it. */
  readonly git: string;
}

function repositoryAround(directory: string): Repository | null {
  for (let top = resolve(directory); ; top = dirname(top)) {
    const git = join(top, '.git');
    if (existsSync(git)) {
      const link = /^gitdir: (.+)$/m.exec(textOf(git) ?? '')?.[1]?.trim();
      return { top, git: link === undefined ? git : resolve(top, link) };
    }
    if (top === dirname(top)) return null;
  }
}

/** Reads a regular file: reading a named pipe would block. */
function textOf(path: string): string | null {
  try {
    return statSync(path).isFile() ? readFileSync(path, 'utf8') : null;
  } catch {
    return null;
  }
}

/** Returns the current branch of a directory's repository; null if there is none or it is unknown. Never throws. */
export function currentBranch(directory: string): string | null {
  const git = repositoryAround(directory)?.git ?? null;
  const head = git === null ? null : textOf(join(git, 'HEAD'));
  return /^ref: refs\/heads\/(.+)$/m.exec(head ?? '')?.[1]?.trim() ?? null;
}

export type GitSettings = ReadonlyMap<string, readonly string[]>;

/** The repository's own settings, keys in lower case but for the middle: `branch.Main.merge`. Empty if unreadable. */
export function settingsOf(directory: string): GitSettings {
  const git = repositoryAround(directory)?.git ?? null;
  const settings = new Map<string, string[]>();
  if (git === null) return settings;
  const common = textOf(join(git, 'commondir'))?.trim();
  const config = textOf(join(common === undefined ? git : resolve(git, common), 'config')) ?? '';
  let section = '';
  for (const line of config.split(/\r?\n/)) {
    const [, name, sub] = /^\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]/.exec(line) ?? [];
    if (name !== undefined)
      section = sub === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${sub.replace(/\\(.)/g, '$1')}`;
    const [, key, value] = /^\s*([\w-]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key !== undefined) {
      const whole = `${section}.${key.toLowerCase()}`;
      settings.set(whole, [...(settings.get(whole) ?? []), value ?? '']);
    }
  }
  return settings;
}

/** Returns a test for tracked absolute paths: none is without a repository, all are if its index is not readable. */
export function trackedFiles(directory: string): (path: string) => boolean {
  const repository = repositoryAround(directory);
  if (repository === null) return () => false;
  const { top, git } = repository;
  const index = readIndex(git);
  if (index === null) return () => true;
  return (path) => path.startsWith(`${top}/`) && holds(index, path.slice(top.length + 1));
}

/** Maximum size of an index, that of some two million files. */
const MAX_INDEX = 256 * 1024 * 1024;

/** Reads an index of version 2, which has every path in full; null if it is missing or of another version. */
function readIndex(git: string): Buffer | null {
  try {
    const path = join(git, 'index');
    const stat = statSync(path);
    if (!stat.isFile() || stat.size > MAX_INDEX) return null;
    const index = readFileSync(path);
    return index.toString('latin1', 0, 4) === 'DIRC' && index.readUInt32BE(4) === 2 ? index : null;
  } catch {
    return null;
  }
}

const NAME_LENGTH = 0xfff;

/** An entry ends with two bytes of flags, the path's length in their lower twelve bits, the path and a zero. */
function holds(index: Buffer, path: string): boolean {
  const length = Buffer.byteLength(path);
  for (let at = index.indexOf(`${path}\0`); at !== -1; at = index.indexOf(`${path}\0`, at + 1)) {
    if (at >= 2 && (index.readUInt16BE(at - 2) & NAME_LENGTH) === Math.min(length, NAME_LENGTH)) return true;
  }
  return false;
}
