import { createHash } from 'node:crypto';
import { type Dirent, fstatSync, lstatSync, readdirSync, readlinkSync, readSync, type Stats } from 'node:fs';
import { ifOutOfReach, READ_PLAIN, withDescriptor } from '../files/regular-file.ts';

/** Version of a file: type, permissions and content. */
export interface Version {
  /** `other` is anything but a regular file and a symbolic link. It is never restored. */
  readonly kind: 'file' | 'link' | 'other';
  readonly mode: number;
  /** SHA-256 of the bytes or of a link's target; for a very large file its stamps; '' if not read. */
  readonly hash: string;
  readonly size: number;
  readonly mtimeMs: number;
}

const MODE = 0o7777;
const CHUNK = 1024 * 1024;
/** Minimum size of a buffer: a whole chunk for each small file would keep V8 busy collecting garbage. */
const PAGE = 4096;

/** Size from which only the stamps of a file are compared: a program can create a file of any length at once. */
const MOST_BYTES = 1024 * 1024 * 1024;

/** Returns the version at a path, without following links; null if nothing exists. Hashed only if as long as `base`. */
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
      // A link has no permissions of its own, and its times are meaningless.
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

/** Empty file that the client's sandbox puts in the place of a missing one (measured). */
export const PLACEHOLDER: Version = { kind: 'file', mode: 0o444, size: 0, hash: '', mtimeMs: 0 };

export function isPlaceholder(version: Version | null): boolean {
  return version?.kind === 'file' && version.size === 0 && (version.mode & 0o777) === PLACEHOLDER.mode;
}

/** Returns the status of a path, without following links; null if it does not exist or is inaccessible. */
export function statAt(path: string): Stats | null {
  return ifOutOfReach(() => lstatSync(diskPath(path), { throwIfNoEntry: false }) ?? null, null);
}

/** Reads a file without following a link or waiting for the writer of a pipe. Returns false if it is not a regular file. */
function readAll(path: string, add: (bytes: Buffer) => void): boolean {
  return withDescriptor(diskPath(path), READ_PLAIN, 0, (descriptor) => {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) return false;
    const most = Math.min(CHUNK, Math.max(PAGE, stat.size + 1));
    for (;;) {
      const chunk = Buffer.allocUnsafe(most);
      const length = readSync(descriptor, chunk, 0, most, null);
      if (length === 0) return true;
      add(chunk.subarray(0, length));
    }
  });
}

export function isSameVersion(one: Version | null, other: Version | null): boolean {
  if (one === null || other === null) return one === other;
  return one.kind === other.kind && one.mode === other.mode && one.hash === other.hash && one.hash !== '';
}

/** Pattern for a byte of a name that is not UTF-8, kept as a lone surrogate so that every name has its own string. */
const ODD_BYTE = /[\udc80-\udcff]/u;
const ODD_BYTES = /([\udc80-\udcff])/u;
const BYTE = 0xdc00;

/** Returns a path as the file system stores it. */
export function diskPath(path: string): string | Buffer {
  if (!ODD_BYTE.test(path)) return path;
  const pieces = path.split(ODD_BYTES);
  return Buffer.concat(
    pieces.map((piece) => (ODD_BYTE.test(piece) ? Buffer.of(piece.charCodeAt(0) - BYTE) : Buffer.from(piece))),
  );
}

/** Returns a form of a path that every file system can store: `caf%E9.ts`. */
export function plainPath(path: string): string {
  return path.replace(
    new RegExp(ODD_BYTE, 'gu'),
    (byte) => `%${(byte.charCodeAt(0) - BYTE).toString(16).toUpperCase()}`,
  );
}

/** Lists a folder, including names that are not UTF-8. */
export function readFolder(folder: string): Array<Pick<Dirent, 'name' | 'isDirectory'>> {
  const entries = readdirSync(diskPath(folder), { withFileTypes: true });
  if (!entries.some(({ name }) => name.includes('\ufffd'))) return entries;
  return readdirSync(diskPath(folder), { withFileTypes: true, encoding: 'buffer' }).map((entry) => ({
    name: nameOf(entry.name as unknown as Buffer),
    isDirectory: () => entry.isDirectory(),
  }));
}

function nameOf(bytes: Buffer): string {
  const isText = (part: Buffer): boolean => Buffer.from(part.toString('utf8')).equals(part);
  let name = '';
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find((count) => isText(bytes.subarray(at, at + count)));
    name +=
      length === undefined ? String.fromCharCode(BYTE + (bytes[at] ?? 0)) : bytes.toString('utf8', at, at + length);
    at += length ?? 1;
  }
  return name;
}
