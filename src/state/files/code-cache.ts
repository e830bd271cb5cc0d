import { existsSync, fstatSync, mkdirSync, readdirSync, readSync, statSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { Script } from 'node:vm';
import { digest } from '../../text/digest.ts';
import { findOutsideRoot } from '../home-folder.ts';
import { removeIfThere, withDescriptor, writeAtomically } from './regular-file.ts';

declare const require: (path: string) => unknown;
declare const __dirname: string;

/** Loads a module of node by name, or a part of the program by number: 1000 times that of its file, plus its place there. */
type Require = (id: string | number) => unknown;
/** Part of the program, compiled when first needed. Fills `values`, and returns what import() loads. */
type Part = (require: Require, values: unknown[]) => object | undefined;
/** Contents read from a file of the program, beginning with the numbers of the entries, and the parts that have run. */
type Loaded = { readonly parts: readonly [Readonly<Record<string, number>>, ...Part[]]; readonly used: Set<string> };

export const WEB_FILE = 'ralph-web.cjs';
export const FLEET_FILE = 'ralph-fleet.cjs';
/** Files of the program: hooks, their rarely needed parts, everything else, web page, fleet. */
export const PROGRAM_FILES = ['ralph-hooks.cjs', 'ralph-checks.cjs', 'ralph-main.cjs', WEB_FILE, FLEET_FILE] as const;

/** Size of a file's head: the length of the beginning that tool hooks need, and its number of entries. */
export const PROGRAM_HEAD = 20;

/**
 * Ages at which a cache is rewritten with the functions that the run compiled: by the next run, after a minute, and then
 * every hour. The first run of a part differs from later ones, which would compile the same again and again.
 */
const REFRESH_MS = [0, 60_000, 3_600_000];
/** Age at which caches of earlier builds are removed. */
const OLD_MS = 7 * 24 * 3_600_000;
/** Heap size from which V8 has collected garbage, including the code of functions that had not run for a while. */
const LARGE_HEAP_BYTES = 20 * 1024 * 1024;

const NEWLINE = 0x0a;
const BRACKET = 0x5d;

/** Runs one entry of the program: a hook, the command line or the status line. */
export function runEntry(entry: string): void {
  const folder = programFolder();
  const caches = cacheFolder();
  const load = (file: number, index: number): Loaded => {
    const needed = entry.endsWith('-tool-use') ? index : Number.POSITIVE_INFINITY;
    return loadFile(folder, PROGRAM_FILES[file] ?? '', needed, caches, entry);
  };
  const files = [load(0, 0)];
  const values: unknown[] = [];
  const exports = new Map<string | number, unknown>();
  const requirePart: Require = (id) => {
    if (exports.has(id)) return exports.get(id);
    const exported = typeof id === 'string' ? require(id) : run(id);
    exports.set(id, exported);
    return exported;
  };
  const run = (id: number): unknown => {
    const [file, index] = [Math.trunc(id / 1000), id % 1000];
    if (files[file]?.parts[index] === undefined) files[file] = load(file, index);
    const part = files[file]?.parts[index];
    if (typeof part !== 'function') throw new Error(`${folder} lacks the part ${id}; install ralph-loop again`);
    files[file]?.used.add(`${id}`);
    return part(requirePart, values);
  };
  requirePart(files[0]?.parts[0][entry] ?? 0);
}

/** Returns the bundle's scripts/; for a hook in a project, those of the skill that `init` installed. */
function programFolder(): string {
  const above = dirname(__dirname);
  const own = `${above}${sep}scripts`;
  return existsSync(`${own}${sep}${PROGRAM_FILES[0]}`) ? own : [above, 'skills', 'ralph-loop', 'scripts'].join(sep);
}

/** Returns the folder of the code caches, outside the project; null for a user who never had a loop: nothing is written. */
function cacheFolder(): string | null {
  const root = findOutsideRoot(process.env); // the entry itself reports a missing home folder
  return root !== null && existsSync(root) ? `${root}${sep}code-cache` : null;
}

/**
 * Loads a file of the program with V8's code cache: compiling takes most of a hook's time (8 of 13 ms for the shell parser).
 * Each entry has its own cache, so that a hook reads only the functions that it calls. Node's own compile cache keeps only
 * what the first call compiled: a hook whose first call was an edit would compile the shell parser at every command. The
 * cache is only an accelerator: without it, or if V8 rejects it, the file is compiled.
 */
function loadFile(folder: string, name: string, index: number, caches: string | null, entry: string): Loaded {
  const filename = `${folder}${sep}${name}`;
  const { source, stamp } = readProgram(filename, index);
  const prefix = `${entry}-${name}-`;
  const path = `${caches}${sep}${prefix}${cacheName(filename, stamp)}`;
  const { cachedData, covered: known, writes, isDue } = caches === null ? NO_CACHE : readCache(path);
  const script = new Script(source, { filename, ...(cachedData && { cachedData }) });
  const parts = (script.runInThisContext() as (file: string) => Loaded['parts'])(filename);
  const used = new Set<string>();
  if (caches === null) return { parts, used };
  const covered = script.cachedDataRejected ? [] : known;
  process.on('exit', () => {
    const further = [...used].some((id) => !covered.includes(id));
    if (!further && !isDue && !script.cachedDataRejected) return;
    // A cache that may lack code replaces no other and claims no part, so that the next process completes it.
    const isWhole = process.memoryUsage().heapTotal < LARGE_HEAP_BYTES;
    if (!isWhole && cachedData !== undefined && !script.cachedDataRejected) return;
    keep(script, [`${further ? 1 : writes + 1}`, ...(isWhole ? new Set([...covered, ...used]) : [])], path, prefix);
  });
  return { parts, used };
}

/** Reads a file of the program: the beginning, which is enough for most tool hooks, or all of it if `index` is not there. */
function readProgram(filename: string, index: number): { readonly source: string; readonly stamp: string } {
  return withDescriptor(filename, 'r', 0, (descriptor) => {
    const { size, mtimeMs } = fstatSync(descriptor);
    const [first = 0, count = 0] = read(descriptor, PROGRAM_HEAD).toString().slice(2).split(' ').map(Number);
    const isFirst = index < count;
    const length = isFirst ? first : size;
    const bytes = read(descriptor, length + 1);
    bytes[length] = isFirst ? BRACKET : NEWLINE;
    return { source: bytes.toString(), stamp: `${length} ${mtimeMs}` };
  });
}

/** Memory for one read at a time: most of a hook's cost beyond its code is pages touched for the first time. */
const SPACE = Buffer.allocUnsafe(1024 * 1024);

/** Reads the beginning of a file. */
function read(descriptor: number, length: number): Buffer {
  const bytes = length > SPACE.length ? Buffer.allocUnsafe(length) : SPACE.subarray(0, length);
  readSync(descriptor, bytes, 0, length, 0);
  return bytes;
}

/** Returns the path of a cache. V8 compares only the source's length, so the name identifies this file and this node. */
function cacheName(filename: string, stamp: string): string {
  const { version, arch, execArgv } = process;
  return digest([filename, stamp, version, arch, ...execArgv].join('\n'));
}

interface Cache {
  readonly cachedData?: Buffer;
  /** Parts of the program that have run in the processes that wrote this cache. */
  readonly covered: readonly string[];
  /** Number of writes since it gained a part. */
  readonly writes: number;
  /** True if it is missing or old enough to be rewritten. */
  readonly isDue: boolean;
}

const NO_CACHE: Cache = { covered: [], writes: 0, isDue: true };

/** Reads V8's data, followed by a line with the number of writes and the covered parts. */
function readCache(path: string): Cache {
  try {
    return withDescriptor(path, 'r', 0, (descriptor) => {
      const { size, mtimeMs } = fstatSync(descriptor);
      const bytes = read(descriptor, size);
      const end = bytes.lastIndexOf(NEWLINE);
      const [writes, ...covered] = `${bytes.subarray(end + 1)}`.split(' ');
      const age = REFRESH_MS[Math.min(Number(writes), REFRESH_MS.length) - 1] ?? 0;
      const isDue = Date.now() - mtimeMs > age;
      return { cachedData: bytes.subarray(0, end), covered, writes: Number(writes) || 0, isDue };
    });
  } catch {
    return NO_CACHE;
  }
}

/** Stores the code of a file with every function that has run so far. Never throws: otherwise the next run compiles again. */
function keep(script: Script, said: readonly string[], path: string, prefix: string): void {
  try {
    const folder = dirname(path);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeAtomically(path, Buffer.concat([script.createCachedData(), Buffer.from(`\n${said.join(' ')}`)]), 0o600);
    for (const other of readdirSync(folder)) {
      const file = join(folder, other);
      if (other.startsWith(prefix) && Date.now() - statSync(file).mtimeMs > OLD_MS) removeIfThere(file);
    }
  } catch {
    // No space, or no permission.
  }
}
