import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import nodeModule from 'node:module';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { digest } from '../../text/digest.ts';
import { removeIfThere } from '../files/read-regular-file.ts';
import { writeAtomically } from '../files/write-atomically.ts';
import { outsideRoot } from '../loop-files.ts';

declare const require: (path: string) => unknown;
declare const __dirname: string;

type Wrapper = (exports: object, require: unknown, module: { exports: unknown }, file: string, folder: string) => void;

/** A cache of this age is written again by the next run, which adds the functions that it compiled. */
const REFRESH_MS = 3_600_000;
/** Caches of earlier builds are removed at this age. */
const OLD_MS = 7 * 24 * 3_600_000;

/** Files of this bundle that the process has loaded. */
const loaded = new Map<string, unknown>();

/**
 * Loads a file of the bundle that is beside the caller's, with V8's code cache: compiling is most of what a hook does (8
 * of 13 ms for the shell parser). The cache is outside the project and only an accelerator: without it, or where V8
 * rejects it, the file is compiled. On a machine that never had a loop nothing is written.
 */
export function loadBeside(name: string): unknown {
  const path = join(__dirname, name);
  const root = outsideRoot(process.env);
  if (!existsSync(root)) return require(path);
  const folder = join(root, 'code-cache');
  const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => void }; // node 22.1
  if (enableCompileCache === undefined) return loadCached(name, folder);
  enableCompileCache(folder);
  return require(path);
}

function loadCached(name: string, folder: string): unknown {
  if (loaded.has(name)) return loaded.get(name);
  const filename = join(__dirname, name);
  // The wrapper that node itself puts around a CommonJS file; esbuild writes ASCII only.
  const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(filename, 'latin1')}\n})`;
  const path = join(folder, `${name}-${keyOf(filename)}`);
  const { cachedData, isDue } = readCache(path);
  const script = new Script(source, { filename, ...(cachedData && { cachedData }) });
  if (isDue || script.cachedDataRejected) process.once('exit', () => keep(script, path, name));
  const module = { exports: {} };
  const requireBeside = (wanted: string): unknown =>
    wanted.startsWith('./ralph-') ? loadCached(wanted.slice(2), folder) : require(wanted);
  (script.runInThisContext() as Wrapper)(module.exports, requireBeside, module, filename, __dirname);
  loaded.set(name, module.exports);
  return module.exports;
}

/** V8 compares only the length of the source, so the key names this very file, and this node. */
function keyOf(path: string): string {
  const { size, mtimeMs } = statSync(path);
  const { version, arch, execArgv } = process;
  return digest([path, size, mtimeMs, version, arch, ...execArgv].join('\n'));
}

/** `isDue`: missing, or old enough to be written again. */
function readCache(path: string): { readonly cachedData?: Buffer; readonly isDue: boolean } {
  try {
    return { cachedData: readFileSync(path), isDue: Date.now() - statSync(path).mtimeMs > REFRESH_MS };
  } catch {
    return { isDue: true };
  }
}

/** Stores the code of a file with every function that has run by now. Never throws: the next run compiles again. */
function keep(script: Script, path: string, name: string): void {
  try {
    const folder = dirname(path);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeAtomically(path, script.createCachedData(), 0o600);
    for (const other of readdirSync(folder)) {
      const file = join(folder, other);
      if (other.startsWith(`${name}-`) && Date.now() - statSync(file).mtimeMs > OLD_MS) removeIfThere(file);
    }
  } catch {
    // no space, or no permission
  }
}
