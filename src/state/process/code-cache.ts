import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { digest } from '../../text/digest.ts';
import { removeIfThere, writeAtomically } from '../files/regular-file.ts';
import { findOutsideRoot } from '../home-folder.ts';

declare const require: (path: string) => unknown;
declare const __dirname: string;

type Require = (path: string) => unknown;
/** A part of the program, in a function that returns its exports and that V8 compiles when the part is first needed. */
type Part = (require: Require) => object;
type Parts = Readonly<Record<string, Part>>;

export const WEB_FILE = 'ralph-web.cjs';
export const FLEET_FILE = 'ralph-fleet.cjs';
/** Files of the program in the order in which a part is looked for: hooks, what they seldom need, everything else, web page, fleet. */
export const PROGRAM_FILES = ['ralph-hooks.cjs', 'ralph-checks.cjs', 'ralph-main.cjs', WEB_FILE, FLEET_FILE] as const;

/**
 * Ages at which a cache is written again, with the functions that the run compiled: by the next run, after a minute, and
 * then every hour. The first run of a part is unlike the later ones, which would compile the same again and again.
 */
const REFRESH_MS = [0, 60_000, 3_600_000];
/** Caches of earlier builds are removed at this age. */
const OLD_MS = 7 * 24 * 3_600_000;
/** With a larger heap V8 has collected garbage, and with it the code of functions that had not run for a while. */
const LARGE_HEAP_BYTES = 20 * 1024 * 1024;

/** Runs one entry of the program: a hook, the command line or the status line. */
export function runEntry(entry: string): void {
  const folder = programFolder();
  const caches = cacheFolder();
  const parts: Record<string, Part> = {};
  const files: string[] = [...PROGRAM_FILES];
  const loaded = new Map<string, object>();
  const requirePart = (id: string): unknown => {
    if (!id.startsWith('./')) return require(id);
    const known = loaded.get(id);
    if (known !== undefined) return known;
    while (parts[id] === undefined) {
      const file = files.shift();
      if (file === undefined) throw new Error(`${folder} lacks the part ${id}; install ralph-loop again`);
      Object.assign(parts, loadFile(join(folder, file), caches, entry, loaded));
    }
    const exported = parts[id](requirePart);
    loaded.set(id, exported);
    return exported;
  };
  requirePart(`./${entry}.js`);
}

/** The bundle's scripts/; for a hook in a project, those of the skill that `init` installed. */
function programFolder(): string {
  const own = join(__dirname, '..', 'scripts');
  return existsSync(join(own, PROGRAM_FILES[0])) ? own : join(__dirname, '..', 'skills', 'ralph-loop', 'scripts');
}

/** The folder of the code caches, outside the project; null for a user who never had a loop: nothing is written there. */
function cacheFolder(): string | null {
  const root = findOutsideRoot(process.env); // what the entry runs says that there is no home folder
  return root !== null && existsSync(root) ? join(root, 'code-cache') : null;
}

/**
 * Loads a file of the program with V8's code cache: compiling is most of what a hook does (8 of 13 ms for the shell
 * parser). Each entry has its own cache, so that a hook reads only the functions that it calls. Node's own compile cache
 * keeps what the first call compiled and nothing of later ones: a hook whose first call was an edit would compile the
 * shell parser at every command. The cache is only an accelerator: without it, or where V8 rejects it, the file is compiled.
 */
function loadFile(filename: string, caches: string | null, entry: string, loaded: ReadonlyMap<string, object>): Parts {
  const source = readFileSync(filename, 'latin1'); // the build writes ASCII only
  const [path, prefix] = cachePath(filename, caches ?? '', entry);
  const { cachedData, covered: known, writes, isDue } = caches === null ? NO_CACHE : readCache(path);
  const script = new Script(source, { filename, ...(cachedData && { cachedData }) });
  const parts = (script.runInThisContext() as (file: string) => Parts)(filename);
  if (caches === null) return parts;
  const covered = script.cachedDataRejected ? [] : known;
  process.once('exit', () => {
    const used = [...loaded.keys()].filter((id) => parts[id] !== undefined);
    const further = used.some((id) => !covered.includes(id));
    if (!further && !isDue && !script.cachedDataRejected) return;
    // What may lack code replaces no cache, and claims no part, so that the next process completes it.
    const isWhole = process.memoryUsage().heapTotal < LARGE_HEAP_BYTES;
    if (!isWhole && cachedData !== undefined && !script.cachedDataRejected) return;
    keep(script, [`${further ? 1 : writes + 1}`, ...(isWhole ? new Set([...covered, ...used]) : [])], path, prefix);
  });
  return parts;
}

/** V8 compares only the length of the source, so the name contains this very file, and this node. */
function cachePath(filename: string, folder: string, entry: string): [path: string, prefix: string] {
  const { size, mtimeMs } = statSync(filename);
  const { version, arch, execArgv } = process;
  const prefix = `${entry}-${filename.slice(dirname(filename).length + 1)}-`;
  return [join(folder, prefix + digest([filename, size, mtimeMs, version, arch, ...execArgv].join('\n'))), prefix];
}

interface Cache {
  readonly cachedData?: Buffer;
  /** Parts of the program that have run in the processes that wrote this cache. */
  readonly covered: readonly string[];
  /** How often it has been written since it gained a part. */
  readonly writes: number;
  /** Missing, or old enough to be written again. */
  readonly isDue: boolean;
}

const NO_CACHE: Cache = { covered: [], writes: 0, isDue: true };

/** Reads V8's data, and behind it a line with the number of writes and the parts that it covers. */
function readCache(path: string): Cache {
  try {
    const bytes = readFileSync(path);
    const end = bytes.lastIndexOf('\n');
    const [writes, ...covered] = bytes.toString('latin1', end + 1).split(' ');
    const age = REFRESH_MS[Math.min(Number(writes), REFRESH_MS.length) - 1] ?? 0;
    const isDue = Date.now() - statSync(path).mtimeMs > age;
    return { cachedData: bytes.subarray(0, end), covered, writes: Number(writes) || 0, isDue };
  } catch {
    return NO_CACHE;
  }
}

/** Stores the code of a file with every function that has run by now. Never throws: the next run compiles again. */
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
    // no space, or no permission
  }
}
