import { chmodSync, lstatSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { ifMissing, realPathOf, removeDrafts, removeIfThere, writeAtomically } from '../state/files/regular-file.ts';
import { clientConfigDir } from '../state/home-folder.ts';
import { advise, RalphError } from '../text/message.ts';

/** Returns the real path of a project file, existing or not. Throws `refused` if a link leads outside or is broken. */
export function safePath(projectDir: string, path: string): string {
  const root = realpathSync(projectDir);
  const real = resolveExisting(join(root, path), path);
  if (real === root || real.startsWith(root.endsWith(sep) ? root : root + sep)) return real;
  const message = `${path} leads out of the project through a symbolic link to ${real}. ralph-loop writes nothing outside ${projectDir}. Replace the link with a real folder or file, or set up the loop in that other project.`;
  throw new RalphError('refused', message);
}

function resolveExisting(path: string, named: string): string {
  const tail: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    if (!exists(at)) {
      tail.unshift(relative(dirname(at), at));
      continue;
    }
    try {
      return join(realpathSync(at), ...tail);
    } catch (error) {
      throw new RalphError('refused', `${named}: the symbolic link ${at} is broken. Remove it first.`, error);
    }
  }
}

function exists(path: string): boolean {
  return ifMissing(() => lstatSync(path) !== undefined, false);
}

/** Reads a file; null if it does not exist. Throws `refused` if it is not a file, or not UTF-8. */
export function readText(path: string): string | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (code === 'EISDIR') throw new RalphError('refused', `${path} is a directory, but must be a file.`, error);
    if (code === 'ENOTDIR')
      throw new RalphError('refused', `${path}: a file exists where a directory is needed.`, error);
    throw new RalphError('refused', `${path} cannot be read: ${(error as Error).message}`, error);
  }
  const text = bytes.toString('utf8');
  if (!Buffer.from(text).equals(bytes)) throw new RalphError('refused', `${path} is not UTF-8 text.`);
  return text;
}

/** Writes a complete file of the project, with its directories. An existing file keeps its permissions. */
export function placeFile(projectDir: string, path: string, content: string, mode: number): void {
  const real = safePath(projectDir, path);
  const before = statSync(real, { throwIfNoEntry: false });
  mkdirSync(dirname(real), { recursive: true });
  removeDrafts(real);
  const wanted = before === undefined ? mode : before.mode & 0o777;
  writeAtomically(real, content, wanted);
  // The umask has reduced a mode that was set on purpose.
  if (before !== undefined) chmodSync(real, wanted);
}

export function removeFile(projectDir: string, path: string): void {
  const real = safePath(projectDir, path);
  removeDrafts(real);
  removeIfThere(real);
}

export const MANIFEST_PATH = '.claude/ralph/.install.json';

/** Record of the files that `init` installed: a later `init` updates and `uninit` removes exactly these. */
export interface InstallManifest {
  readonly manifestVersion: 1;
  readonly version: string;
  /** SHA-256 of each file as written, by path relative to the project, with `/` as separator. */
  readonly files: Readonly<Record<string, string>>;
  /** SHA-256 of each file as `init` was about to write it; absent once it has. */
  readonly updating?: Readonly<Record<string, string>>;
  readonly directories: readonly string[];
  readonly settings: SettingsRecord | null;
}

export function readManifest(projectDir: string): InstallManifest | null {
  try {
    const manifest = JSON.parse(readFileSync(join(projectDir, MANIFEST_PATH), 'utf8')) as InstallManifest;
    const usable =
      manifest.manifestVersion === 1 &&
      [manifest.files, manifest.updating ?? {}].every(isDigests) &&
      manifest.directories.every((path) => typeof path === 'string') &&
      (manifest.settings === null || Array.isArray(manifest.settings.inserted));
    return usable ? manifest : null;
  } catch {
    return null; // missing or edited by hand: no file of the project counts as ours
  }
}

const isDigests = (files: object): boolean => Object.values(files).every((digest) => typeof digest === 'string');

/** Returns the SHA-256 of a file as `init` wrote it: two if `init` was killed while writing; none for another file. */
export function writtenBy({ files, updating = {} }: InstallManifest, path: string): string[] {
  return [files[path], updating[path]].filter((digest) => digest !== undefined);
}

export interface InsertedSpan {
  readonly offset: number;
  readonly length: number;
}

/** Changes of `init` to the settings file, to undo them without a copy. Offsets exclude a byte-order mark. */
export interface SettingsRecord {
  readonly createdFile: boolean;
  /** SHA-256 of the file after `init`. */
  readonly after: string;
  readonly inserted: readonly InsertedSpan[];
  readonly created: readonly string[];
}

export function withoutMark(text: string): { readonly mark: string; readonly body: string } {
  return text.startsWith('\uFEFF') ? { mark: '\uFEFF', body: text.slice(1) } : { mark: '', body: text };
}

export const BUNDLE_HOME = '.claude/skills/ralph-loop';

/** Program as a skill's text calls it: in a project's copy, and in the plugin. */
const IN_PROJECT = `node ${BUNDLE_HOME}/scripts/main.cjs`;
const IN_PLUGIN = 'node "${CLAUDE_PLUGIN_ROOT}/scripts/main.cjs"';

/** Text at which a skill says how its program is called. */
const CALLED = '` in its place.';
/** Only Claude Code replaces the variable in a skill, and puts the program on the PATH. */
const IN_CODEX =
  ' In Codex, CLAUDE_PLUGIN_ROOT has no value: write the path of the folder two above that of SKILL.md for it, also in commands for the user, and add `--agent codex` to `run`, and to `start` with `--launch`.';

/** Returns the text of a skill as the plugin has it. */
export const textInPlugin = (text: string): string =>
  text.replaceAll(`${IN_PROJECT}${CALLED}`, `${IN_PROJECT}${CALLED}${IN_CODEX}`).replaceAll(IN_PROJECT, IN_PLUGIN);

/** Returns the text of a project's file without the changes that git and installers of skills make to ours. */
export const plainText = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll(IN_CODEX, '').replaceAll(IN_PLUGIN, IN_PROJECT);

declare const __filename: string | undefined;

/** Returns the bundle of this program (scripts/, hooks/, templates/); for the sources, dist/plugin. */
export function bundleDir(): string {
  if (typeof __filename === 'string') return dirname(dirname(realpathSync(__filename)));
  return join(process.cwd(), 'dist', 'plugin');
}

/** Throws `refused` if the project's .claude is the client's own directory, whose settings.json applies to every project. */
export function refuseClientDir(projectDir: string, env: NodeJS.ProcessEnv): void {
  const claude = realPathOf(join(projectDir, '.claude'));
  if (claude === null || claude !== realPathOf(clientConfigDir(env))) return;
  const message = `${claude} contains your own Claude Code settings for all projects. Change to the directory of a project.`;
  throw new RalphError('refused', advise(message, 'Or name it', 'init', { project: 'DIR' }));
}
