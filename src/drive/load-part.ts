import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import type * as KeepCode from '../../hooks/ralph-keep-code.ts';
import { outsideRoot } from '../state/loop-files.ts';

declare const require: (path: string) => unknown;
declare const __dirname: string;
/** What the build knows of each part: a digest of its text. */
declare const PART_DIGESTS: Readonly<Record<string, string>>;

type Wrapper = (exports: object, require: unknown, module: { exports: unknown }, file: string, folder: string) => void;

/** Larger than any cache of ours; memory that is not read into costs nothing. */
const MOST_CODE = 2 * 1024 * 1024;

/** Parts that were compiled without a code cache of theirs, and where it belongs. */
const uncached: KeepCode.Uncached[] = [];

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
      process.once('exit', () => (require('./ralph-keep-code.cjs') as typeof KeepCode).keepCode(uncached));
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
