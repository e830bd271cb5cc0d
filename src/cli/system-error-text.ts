import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not',
  EPERM: 'this user may not',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: "this user's quota is exhausted",
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  EIO: 'the disk fails',
  ENOTDIR: 'a file is in the place of a folder',
  ENAMETOOLONG: 'the name is too long',
};

/** Codes of a folder that cannot be made because a file is in the way. */
const IN_THE_WAY = ['EEXIST', 'ENOENT', 'ELOOP'];

/** Explains a failed system call to the user; returns null for an error that is a bug of this program. */
export function systemErrorText(error: unknown, refusal = whyNotWritable): string | null {
  const { path, syscall } = error as NodeJS.ErrnoException;
  const code = codeOf(error, refusal);
  const inTheWay = syscall === 'mkdir' && code !== undefined && IN_THE_WAY.includes(code);
  const known = code !== undefined && Object.hasOwn(REASONS, code) ? REASONS[code] : undefined;
  const reason = inTheWay ? 'a file or a broken link is in the place of a folder' : known;
  if (reason === undefined || syscall === undefined) return null;
  return `${path ?? 'a file'} cannot be used: ${reason} (${code}, ${syscall}). Fix this and run the command again; no loop data is lost.`;
}

/** Returns the path that an error of the system says is read-only, or null. */
export function readOnlyPath(error: unknown): string | null {
  const { path } = error as NodeJS.ErrnoException;
  return codeOf(error, whyNotWritable) === 'EROFS' && path !== undefined ? path : null;
}

/** Node.js says ENOENT of a folder with those above it that it may not make on a read-only file system. */
function codeOf(error: unknown, refusal: typeof whyNotWritable): string | undefined {
  const { path, syscall, code } = error as NodeJS.ErrnoException;
  const hidden = syscall === 'mkdir' && code === 'ENOENT' && path !== undefined ? refusal(nearest(path)) : null;
  return hidden ?? code;
}

/** Returns the nearest existing folder above a path. */
function nearest(path: string): string {
  const above = dirname(path);
  return existsSync(above) || above === path ? above : nearest(above);
}

/** Returns the system's code if nothing can be made in a folder, else null. */
function whyNotWritable(folder: string): string | null {
  try {
    accessSync(folder, constants.W_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? null;
  }
}
