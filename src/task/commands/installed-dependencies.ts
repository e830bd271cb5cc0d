import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { isWithin } from '../project-file.ts';

/**
 * Folders and files in which package managers keep dependencies, each with the files that declare them; one of these must be
 * beside it (none: no file is needed). An ignored folder of this name without such a file is the agent's own work.
 */
const DEPENDENCIES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    node_modules: 'package.json package.json5 package.yaml pnpm-workspace.yaml deno.json deno.jsonc',
    bower_components: 'bower.json',
    jspm_packages: 'package.json',
    vendor:
      'composer.json Gemfile gems.rb go.mod go.work Cargo.toml jsonnetfile.json vendir.yml Gopkg.toml rebar.config',
    '.bundle': 'Gemfile gems.rb',
    deps: 'mix.exs rebar.config erlang.mk',
    Pods: 'Podfile',
    Carthage: 'Cartfile',
    'elm-stuff': 'elm.json',
    '.dart_tool': 'pubspec.yaml',
    ...Object.fromEntries(['.yarn', '.pnp.cjs', '.pnp.loader.mjs', '.venv', 'venv'].map((name) => [name, ''])),
  }).map(([name, files]) => [name, files.split(' ').filter((file) => file !== '')]),
);

/** Caches that tools keep in these folders and overwrite in place. */
const CACHES = new Set(['.cache', '.vite', '.vite-temp', '.vitest', '.parcel-cache']);

/** Errors of link(2) after which the file is copied: another file system, another owner, too many links. */
const COPIED = new Set(['EXDEV', 'EPERM', 'EACCES', 'EMLINK', 'ENOTSUP', 'ENOSYS']);

/** Number of files after which other events get a turn. */
const AT_ONCE = 500;

/** Returns whether an ignored path of a copy holds dependencies that a file of the copy declares. */
export function isDependency(copy: string, path: string): boolean {
  const files = DEPENDENCIES.get(basename(path));
  return files?.length === 0 || files?.some((file) => existsSync(join(copy, dirname(path), file))) === true;
}

export function isInDependency(path: string): boolean {
  return path.split('/').some((name) => DEPENDENCIES.has(name));
}

/**
 * Puts a folder of dependencies into a copy of its project, as hard links to its files, so that modules find each other
 * and the rest of the copy as in the project. Files on another file system are copied. Rejects with the abort reason.
 */
export async function linkDependencies(
  project: string,
  copy: string,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  let linked = 0;
  const link = async (from: string, to: string): Promise<void> => {
    const stat = lstatSync(from, { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) symlinkSync(targetOf(from, project), to);
    else if (stat?.isFile()) linkFile(from, to);
    else if (stat?.isDirectory()) {
      mkdirSync(to, { recursive: true });
      for (const name of readdirSync(from)) if (!CACHES.has(name)) await link(join(from, name), join(to, name));
    }
    linked += 1;
    if (linked % AT_ONCE === 0) {
      await new Promise(setImmediate);
      signal.throwIfAborted();
    }
  };
  mkdirSync(dirname(join(copy, path)), { recursive: true });
  await link(join(project, path), join(copy, path));
}

/** Returns the target for a link: relative within the project, so that it names the copy's own file; else absolute. */
function targetOf(path: string, project: string): string {
  const target = resolve(dirname(path), readlinkSync(path));
  return isWithin(project, target) ? relative(dirname(path), target) : target;
}

function linkFile(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (!COPIED.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    copyFileSync(from, to, constants.COPYFILE_FICLONE);
  }
}
