import { existsSync, fstatSync, mkdirSync, readdirSync, readSync, statSync } from 'node:fs';
import { basename, dirname, sep } from 'node:path';
import { Script } from 'node:vm';
import { digest } from '../../text/digest.ts';
import { findOutsideRoot } from '../home-folder.ts';
import { removeIfThere, withDescriptor, writeAtomically } from './regular-file.ts';

type Require = (id: string) => unknown;
type Chunk = (exports: object, require: Require, module: { exports: unknown }, filename: string) => void;
interface Stamp {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
}

/** Age at which a cache is written again, by its number of writes: each of the first commands runs new functions. */
const REFRESH_MS = [0, 0, 4_000, 16_000, 60_000, 600_000, 3_600_000];
/** Age at which caches of earlier builds are removed. */
const OLD_MS = 7 * 24 * 3_600_000;
/** Minimum size of a new cache relative to the old one: V8 drops functions that have not run for a while. */
const KEPT = 0.98;

const DIGEST_LENGTH = 16;
/** Buffer for one file at a time: touching new pages costs a hook more than reading does. */
const SPACE = Buffer.allocUnsafeSlow(512 * 1024);

/**
 * Returns the `require` of an entry in the folder `here`. It compiles chunks of the program with the code that earlier
 * processes have cached: compiling takes most of a hook's time. Each entry has its own cache of each chunk, so that a
 * hook reads only the functions that it calls. Without a cache, or if V8 rejects it, the chunk is compiled from its
 * source.
 */
export function requireOf(entry: string, here: string, builtin: Require): Require {
  const root = findOutsideRoot(process.env); // the entry itself reports a missing home folder
  const caches = root !== null && existsSync(root) ? `${root}${sep}code-cache` : null;
  const loaded = new Map<string, { exports: unknown }>();
  const ends: (() => void)[] = [];
  process.on('exit', () => {
    for (const end of ends) end();
  });
  let folder: string | undefined;
  return function load(id) {
    const key = id.startsWith('.') ? basename(id) : id;
    const known = loaded.get(key);
    if (known !== undefined) return known.exports;
    // Without a prototype, V8 uses a table at once, and makes no shape for each of several hundred names.
    const module: { exports: object } = { exports: Object.create(null) as object };
    if (key === id) module.exports = builtin(id) as object;
    else {
      folder ??= programFolder(dirname(here), key);
      const filename = `${folder}${sep}${key}`;
      compile(filename, entry, caches, ends)(module.exports, load, module, filename);
    }
    // Set only now, so that a chunk that failed to load is tried again; no chunk imports itself.
    loaded.set(key, module);
    return module.exports;
  };
}

/**
 * Returns the scripts of the skill that `init` installed, for a hook in a project; else the bundle's. A folder scripts/ in
 * .claude is not guarded, so nothing is loaded from it: where the skill lacks a chunk, the hook fails.
 */
function programFolder(above: string, chunk: string): string {
  const copied = [above, 'skills', 'ralph-loop', 'scripts'].join(sep);
  const isProject = basename(above) === '.claude' || existsSync(`${copied}${sep}${chunk}`);
  return isProject ? copied : `${above}${sep}scripts`;
}

/** Compiles a chunk, and adds to `ends` a function that caches the code of every function run by then. */
function compile(filename: string, entry: string, caches: string | null, ends: (() => void)[]): Chunk {
  const { bytes, stamp } = read(filename);
  const source = bytes.toString('latin1');
  const path = caches === null ? null : `${caches}${sep}${cacheName(entry, filename, stamp, process.execArgv)}`;
  const { cachedData, writes, isDue } = (path === null ? null : readCache(path)) ?? NO_CACHE;
  const script = new Script(source, { filename, ...(cachedData && { cachedData }) });
  const isUsed = cachedData !== undefined && script.cachedDataRejected !== true;
  if (path !== null && (isDue || !isUsed)) {
    const least = isUsed ? cachedData.length * KEPT : 0;
    ends.push(() => keep(script, path, isUsed ? writes : 0, least));
  }
  return script.runInThisContext() as Chunk;
}

/**
 * Returns the name of a cache. V8 compares only the source's length, so the name identifies this file and this node. Some
 * systems give every file the same modification time, but not the same change time.
 */
export function cacheName(entry: string, filename: string, stamp: Stamp, options: readonly string[]): string {
  const { version, arch } = process;
  const identity = [filename, stamp.size, stamp.mtimeMs, stamp.ctimeMs, version, arch, ...options].join('\n');
  return `${entry}-${basename(filename)}-${digest(identity)}`;
}

interface Cache {
  readonly cachedData?: Buffer;
  readonly writes: number;
  readonly isDue: boolean;
}

const NO_CACHE: Cache = { writes: 0, isDue: true };

/** Reads V8's data, which is stored twice, and a byte with the number of writes. Returns null if damaged: V8 would crash. */
function readCache(path: string): Cache | null {
  try {
    const { bytes, stamp } = read(path);
    const half = (bytes.length - 1) / 2;
    const cachedData = bytes.subarray(0, half);
    if (!cachedData.equals(bytes.subarray(half, -1))) return null;
    const writes = bytes.at(-1) ?? 0;
    const age = REFRESH_MS[Math.min(writes, REFRESH_MS.length - 1)] ?? 0;
    return { cachedData, writes, isDue: Date.now() - stamp.mtimeMs > age };
  } catch {
    return null;
  }
}

/** Reads a file into the shared buffer, or into one of its own if it is larger. */
function read(path: string): { readonly bytes: Buffer; readonly stamp: Stamp } {
  return withDescriptor(path, 'r', 0, (descriptor) => {
    const stamp = fstatSync(descriptor);
    const bytes = stamp.size > SPACE.length ? Buffer.allocUnsafe(stamp.size) : SPACE.subarray(0, stamp.size);
    readSync(descriptor, bytes, 0, stamp.size, 0);
    return { bytes, stamp };
  });
}

/**
 * Stores the code of a chunk with every function that has run so far, unless it has fewer bytes than `least`. `before` is the
 * write count of the cache that was used. Never throws: without a cache, the next run compiles again.
 */
function keep(script: Script, path: string, before: number, least: number): void {
  try {
    const data = script.createCachedData();
    if (data.length < least) return;
    const folder = dirname(path);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const bytes = Buffer.concat([data, data, Buffer.of(Math.min(before + 1, 255))]);
    // Only the content is synced: a lost name is written again.
    writeAtomically(path, bytes, 0o600, 'content');
    const prefix = basename(path).slice(0, -DIGEST_LENGTH);
    for (const other of readdirSync(folder)) {
      const file = `${folder}${sep}${other}`;
      if (other.startsWith(prefix) && Date.now() - statSync(file).mtimeMs > OLD_MS) removeIfThere(file);
    }
  } catch {
    // No space, no permission, or no /proc.
  }
}
