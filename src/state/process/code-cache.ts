import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { removeIfThere } from '../files/read-regular-file.ts';
import { writeAtomically } from '../files/write-atomically.ts';
import { outsideRoot } from '../loop-files.ts';

declare const require: (path: string) => unknown;
declare const __dirname: string;
/** What the build knows of each part: a digest of its text. */
declare const PART_DIGESTS: Readonly<Record<string, string>>;

type Wrapper = (exports: object, require: unknown, module: { exports: unknown }, file: string, folder: string) => void;

/** Larger than any cache of ours; memory that is not read into costs nothing. */
const MOST_CODE = 2 * 1024 * 1024;

/** Parts that were compiled without a code cache of theirs, and where it belongs. */
const uncached: Uncached[] = [];

interface PartOptions {
  /** What the part is loaded for, where that decides which of its functions run: each has a cache of its own. */
  readonly use?: string;
  /** false: a cache is taken where it lies, and none is made. */
  readonly keeps?: boolean;
}

/**
 * Loads a file of the bundle that lies beside this one, with V8's code cache for it: compiling is most of what a hook
 * does (8 of 13 ms for the shell parser). The cache lies outside the project, is named for the text that the build made
 * and for this very node, and is no more than a help: without it, or where V8 refuses it, the file is compiled as ever.
 */
export function loadPart(name: string, { use = '', keeps = true }: PartOptions = {}): unknown {
  const path = join(__dirname, name);
  // The wrapper that node itself puts around a CommonJS file.
  const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(path, 'utf8')}\n})`;
  const cache = cachePath(name, use);
  const cachedData = readCode(cache);

  const script = new Script(source, cachedData === null ? { filename: path } : { filename: path, cachedData });
  if (keeps && (cachedData === null || script.cachedDataRejected)) {
    if (uncached.length === 0) {
      process.once('exit', () =>
        (require('./ralph-keep-code.cjs') as { keepCode: typeof keepCode }).keepCode(uncached),
      );
    }
    uncached.push({ script, name, cache });
  }
  const module = { exports: {} };
  (script.runInThisContext() as Wrapper)(module.exports, requireFromPart, module, path, __dirname);
  return module.exports;
}

/** A part asks for another part in the ordinary way, and gets it in this one. */
function requireFromPart(name: string): unknown {
  return name.startsWith('./ralph-') ? loadPart(name.slice(2)) : require(name);
}

/** V8 compares nothing but the length of the source: so the name says which text it was, and which node. */
function cachePath(name: string, use: string): string {
  const { version, arch, execArgv } = process;
  const key = `${name}-${PART_DIGESTS[name] ?? ''}-${version}-${arch}${execArgv.join('')}${use}`;
  return join(outsideRoot(process.env), 'code-cache', key.replaceAll('/', '_'));
}

/** Read in one piece: readFileSync asks for the size first, and is compiled anew for a Buffer. null where there is none. */
function readCode(path: string): Buffer | null {
  try {
    const descriptor = openSync(path, 'r');
    try {
      const code = Buffer.allocUnsafeSlow(MOST_CODE);
      return code.subarray(0, readSync(descriptor, code, 0, MOST_CODE, 0));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return null;
  }
}

export interface Uncached {
  readonly script: Script;
  /** The part's file name. */
  readonly name: string;
  /** The absolute path of its cache. */
  readonly cache: string;
}

/** Two projects can have two builds: what one of them used lately is not taken away by the other. */
const OLD_MS = 7 * 24 * 3_600_000;

/**
 * Keeps the code of parts that were compiled anew, with every function that has run by now, and takes away what earlier
 * builds of them left a week ago. Never throws.
 */
export function keepCode(parts: readonly Uncached[]): void {
  for (const { script, name, cache } of parts) {
    try {
      const folder = dirname(cache);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeAtomically(cache, script.createCachedData(), 0o600);
      for (const other of readdirSync(folder)) {
        const left = join(folder, other);
        if (other.startsWith(`${name}-`) && Date.now() - statSync(left).mtimeMs > OLD_MS) removeIfThere(left);
      }
    } catch {
      // No space, no right to write: the next hook compiles for itself again.
    }
  }
}
