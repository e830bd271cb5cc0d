import { type Dirent, readdirSync } from 'node:fs';

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
