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

interface Module {
  readonly exports: object;
}
type Require = (path: string) => unknown;
/** A part of the program, in a function that returns its exports and that V8 compiles when the part is first needed. */
type Part = (require: Require) => object;
type Wrapper = (exports: object, require: Require, module: Module, file: string, folder: string) => void;

/** Files of the program in the order in which a part is looked for: hooks, what they seldom need, everything else. */
export const PROGRAM_FILES = ['ralph-hooks.cjs', 'ralph-checks.cjs', 'ralph-main.cjs'] as const;

/** A cache of this age is written again by the next run, which adds the functions that it compiled. */
const REFRESH_MS = 3_600_000;
/** Caches of earlier builds are removed at this age. */
const OLD_MS = 7 * 24 * 3_600_000;

/** Runs one entry of the program: a hook, the command line or the status line. */
export function runEntry(entry: string): void {
  const folder = programFolder();
  const load = loaderFor(entry);
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
      Object.assign(parts, load(join(folder, file)));
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

/**
 * Returns the function that loads a file of the program, with V8's code cache: compiling is most of what a hook does (8
 * of 13 ms for the shell parser). Each entry has its own cache, so that a hook reads only the functions that it calls.
 * The cache is outside the project and only an accelerator: without it, or where V8 rejects it, the file is compiled. On
 * a machine that never had a loop nothing is written.
 */
function loaderFor(entry: string): Require {
  const root = outsideRoot(process.env);
  if (!existsSync(root)) return require;
  const folder = join(root, 'code-cache');
  const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => void }; // node 22.1
  if (enableCompileCache === undefined) return (path) => loadCached(path, folder, entry);
  enableCompileCache(join(folder, entry));
  return require;
}

function loadCached(filename: string, folder: string, entry: string): unknown {
  // The wrapper that node itself puts around a CommonJS file; esbuild writes ASCII only.
  const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(filename, 'latin1')}\n})`;
  const [path, prefix] = cachePath(filename, folder, entry);
  const { cachedData, isDue } = readCache(path);
  const script = new Script(source, { filename, ...(cachedData && { cachedData }) });
  if (isDue || script.cachedDataRejected) process.once('exit', () => keep(script, path, prefix));
  const module = { exports: {} };
  (script.runInThisContext() as Wrapper)(module.exports, require, module, filename, dirname(filename));
  return module.exports;
}

/** V8 compares only the length of the source, so the name contains this very file, and this node. */
function cachePath(filename: string, folder: string, entry: string): [path: string, prefix: string] {
  const { size, mtimeMs } = statSync(filename);
  const { version, arch, execArgv } = process;
  const prefix = `${entry}-${filename.slice(dirname(filename).length + 1)}-`;
  return [join(folder, prefix + digest([filename, size, mtimeMs, version, arch, ...execArgv].join('\n'))), prefix];
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
function keep(script: Script, path: string, prefix: string): void {
  try {
    const folder = dirname(path);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeAtomically(path, script.createCachedData(), 0o600);
    for (const other of readdirSync(folder)) {
      const file = join(folder, other);
      if (other.startsWith(prefix) && Date.now() - statSync(file).mtimeMs > OLD_MS) removeIfThere(file);
    }
  } catch {
    // no space, or no permission
  }
}
