import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { outsideRoot } from '../../state/loop-files.ts';
import { removeIfThere } from '../../state/remove-if-there.ts';
import { writeAtomically } from '../../state/write-atomically.ts';

declare const require: (path: string) => unknown;
declare const __dirname: string;

type Wrapper = (exports: object, require: unknown, module: { exports: unknown }, file: string, folder: string) => void;

/** Parts that were compiled without a code cache of theirs, and where it belongs. */
const uncached: { readonly script: Script; readonly name: string; readonly cache: string }[] = [];

/**
 * Loads a file of the bundle that lies beside this hook, with V8's code cache for it: compiling is most of what a hook
 * does (8 of 13 ms for the shell parser). The cache lies outside the project, is bound to this very file and this very
 * node, and is no more than a help: without it, or where V8 refuses it, the file is compiled as ever.
 */
export function loadPart(name: string): unknown {
  const path = join(__dirname, name);
  const cache = cachePath(name, path);
  // The wrapper that node itself puts around a CommonJS file.
  const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(path, 'utf8')}\n})`;
  const cachedData = readIfThere(cache);

  const script = new Script(source, cachedData === undefined ? { filename: path } : { filename: path, cachedData });
  if (cachedData === undefined || script.cachedDataRejected) {
    if (uncached.length === 0) process.once('exit', keepCode);
    uncached.push({ script, name, cache });
  }
  const module = { exports: {} };
  (script.runInThisContext() as Wrapper)(module.exports, requireFromPart, module, path, __dirname);
  return module.exports;
}

/** Keeps the code of what was compiled anew, with every function that has run by now. Never throws. */
function keepCode(): void {
  const folder = join(outsideRoot(process.env), 'code-cache');
  for (const { script, name, cache } of uncached) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeAtomically(cache, script.createCachedData(), 0o600);
      for (const other of readdirSync(folder)) {
        if (other.startsWith(`${name}-`) && join(folder, other) !== cache) removeIfThere(join(folder, other));
      }
    } catch {
      // No space, no right to write: the next hook compiles for itself again.
    }
  }
}

/** A part asks for another part in the ordinary way, and gets it in this one. */
function requireFromPart(name: string): unknown {
  return name.startsWith('./ralph-') ? loadPart(name.slice(2)) : require(name);
}

/** V8 compares nothing but the length of the source: so the name says which file it was, to the change of its inode. */
function cachePath(name: string, path: string): string {
  const { size, mtimeMs, ctimeMs, ino } = statSync(path);
  const { version, arch } = process;
  const key = [name, version, arch, process.execArgv.join(''), size, mtimeMs, ctimeMs, ino].join('-');
  return join(outsideRoot(process.env), 'code-cache', key.replace(/[^a-zA-Z0-9.-]/g, '_'));
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
