import { createHash } from 'node:crypto';
import type { Dirent, Stats } from 'node:fs';
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';

/** One state of a file: type, permissions and content. */
export interface Version {
  /** `other` is anything but a regular file and a symbolic link. It is never put back. */
  readonly kind: 'file' | 'link' | 'other';
  readonly mode: number;
  /** SHA-256 of the bytes, or of a link's target; for a very large file its stamps; '' if not read. */
  readonly hash: string;
  readonly size: number;
  readonly mtimeMs: number;
}

const MODE = 0o7777;
const CHUNK = 1024 * 1024;
/** Least buffer; one of a whole chunk for each small file keeps V8 collecting garbage. */
const PAGE = 4096;

/** A program can make a file of any length in no time, so a longer one is known by its stamps alone. */
const MOST_BYTES = 1024 * 1024 * 1024;

/** Returns what is at a path now, no link followed; null if nothing. Unread if its length is not that of `base`. */
export function versionAt(
  path: string,
  keep: (bytes: Buffer) => void = () => undefined,
  base: Version | null = null,
): Version | null {
  const stat = statAt(path);
  if (stat === null) return null;
  const { mode, size, mtimeMs } = stat;
  const common = { mode: mode & MODE, size, mtimeMs };
  const hash = createHash('sha256');
  const add = (bytes: Buffer): void => {
    hash.update(bytes);
    keep(bytes);
  };
  try {
    if (stat.isSymbolicLink()) {
      add(readlinkSync(diskPath(path), { encoding: 'buffer' }));
      // A link has no permissions of its own, and its times say nothing.
      return { ...common, kind: 'link', mode: 0, hash: hash.digest('hex') };
    }
    if (base?.kind === 'file' && stat.isFile() && size !== base.size) return { ...common, kind: 'file', hash: '' };
    if (size > MOST_BYTES) return { ...common, kind: 'file', hash: `${size} ${stat.ino} ${stat.ctimeMs}` };
    if (!stat.isFile() || !readAll(path, add)) return { ...common, kind: 'other', hash: '' };
    return { ...common, kind: 'file', hash: hash.digest('hex') };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (code === 'EACCES' || code === 'EPERM' || code === 'ELOOP') return { ...common, kind: 'file', hash: '' };
    throw error;
  }
}

/** Returns the status of what is at a path, without following a link; null if there is nothing, or no way to it. */
export function statAt(path: string): Stats | null {
  try {
    return lstatSync(diskPath(path), { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EACCES' || code === 'ELOOP' || code === 'ENOTDIR') return null;
    throw error;
  }
}

/** Opens without following a link and without waiting for the writer of a pipe. Returns false for no regular file. */
function readAll(path: string, add: (bytes: Buffer) => void): boolean {
  const descriptor = openSync(
    diskPath(path),
    constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
  );
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) return false;
    const most = Math.min(CHUNK, Math.max(PAGE, stat.size + 1));
    for (;;) {
      const chunk = Buffer.allocUnsafe(most);
      const length = readSync(descriptor, chunk, 0, most, null);
      if (length === 0) return true;
      add(chunk.subarray(0, length));
    }
  } finally {
    closeSync(descriptor);
  }
}

export function isSameVersion(one: Version | null, other: Version | null): boolean {
  if (one === null || other === null) return one === other;
  return one.kind === other.kind && one.mode === other.mode && one.hash === other.hash && one.hash !== '';
}

/** A byte of a name that is no UTF-8, kept as a lone surrogate: a string holds every name, and no two are the same. */
const ODD_BYTE = /[\udc80-\udcff]/u;
const ODD_BYTES = /([\udc80-\udcff])/u;
const BYTE = 0xdc00;

/** Returns a path as the file system knows it. */
export function diskPath(path: string): string | Buffer {
  if (!ODD_BYTE.test(path)) return path;
  const pieces = path.split(ODD_BYTES);
  return Buffer.concat(
    pieces.map((piece) => (ODD_BYTE.test(piece) ? Buffer.of(piece.charCodeAt(0) - BYTE) : Buffer.from(piece))),
  );
}

/** Returns a path under which the file can be kept anywhere: `caf%E9.ts`. */
export function plainPath(path: string): string {
  return path.replace(
    new RegExp(ODD_BYTE, 'gu'),
    (byte) => `%${(byte.charCodeAt(0) - BYTE).toString(16).toUpperCase()}`,
  );
}

/** Lists a folder; names that are no UTF-8 are told from each other. */
export function readFolder(folder: string): Array<Pick<Dirent, 'name' | 'isDirectory'>> {
  const entries = readdirSync(diskPath(folder), { withFileTypes: true });
  if (!entries.some(({ name }) => name.includes('\ufffd'))) return entries;
  return readdirSync(diskPath(folder), { withFileTypes: true, encoding: 'buffer' }).map((entry) => ({
    name: nameOf(entry.name as unknown as Buffer),
    isDirectory: () => entry.isDirectory(),
  }));
}

function nameOf(bytes: Buffer): string {
  let name = '';
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find((count) => isText(bytes.subarray(at, at + count)));
    name +=
      length === undefined ? String.fromCharCode(BYTE + (bytes[at] ?? 0)) : bytes.toString('utf8', at, at + length);
    at += length ?? 1;
  }
  return name;
}

function isText(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString('utf8')).equals(bytes);
}
