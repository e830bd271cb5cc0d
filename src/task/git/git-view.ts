import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { configFolder } from '../../state/home-folder.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { orElse } from '../../text/or-else.ts';
import { type GitAnswer, type GitOptions, runGit } from './run-git.ts';

/** Settings that decide how git sees a working tree, as they were when the loop began. */
export interface GitPins {
  readonly top: string;
  readonly objects: string;
  /** Index file of the repository: the initial copy for the loop's own index, so that unchanged files are not read again. */
  readonly index: string;
  readonly head: string;
  readonly config: string;
  /** Contents of files of the git folder, by their path in it. */
  readonly texts: Readonly<Record<string, string>>;
  readonly hooks: string;
}

const TEXT_FILES = ['info/exclude', 'info/attributes', 'info/sparse-checkout', 'info/grafts', 'shallow'] as const;
const MOST_BYTES = 1024 * 1024;
/** Settings that affect comparisons. Excludes everything that starts programs, except content filters. */
const KEPT =
  /^(?:core\.(?:filemode|ignorecase|symlinks|autocrlf|safecrlf|eol|checkroundtripencoding|precomposeunicode|protecthfs|protectntfs|quotepath|sparsecheckout|sparsecheckoutcone|longpaths|bigfilethreshold)|filter\..*\.(?:clean|smudge|process|required)|extensions\.objectformat|submodule\..*\.ignore)$/s;

/** Reads the pins of a repository; null if git does not answer. */
export async function readGitPins(projectDir: string, options: GitOptions): Promise<GitPins | null> {
  const paths = ['objects', 'index', 'hooks', ...TEXT_FILES].flatMap((name) => ['--git-path', name]);
  const [places, head, config] = await Promise.all([
    runGit(projectDir, ['rev-parse', '--show-toplevel', ...paths], { ...options, keepsHooksPath: true }),
    runGit(projectDir, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], options),
    runGit(projectDir, ['config', '--list', '--null', '--includes'], options),
  ]);
  if (places.kind !== 'answer' || head.kind !== 'answer' || config.kind !== 'answer') return null;
  const [top = '', ...found] = places.text.trimEnd().split('\n');
  const [objects = '', index = '', hooks = '', ...files] = found.map((path) => resolve(projectDir, path));
  const settings = config.text.split('\0').map((entry) => entry.split(/\n(.*)/s) as [string, string?]);
  const texts = TEXT_FILES.map((name, at) => [name, readRegularFile(files[at] ?? '', MOST_BYTES)] as const);
  const listed = [
    ['excludes', userFile('core.excludesfile', 'ignore', settings, options.env)],
    ['attributes', userFile('core.attributesfile', 'attributes', settings, options.env)],
  ] as const;
  return {
    ...{ top, objects, index, head: head.text.trim(), hooks: hooksDigest(hooks), config: configText(settings) },
    texts: Object.fromEntries([...texts, ...listed].flatMap(([name, text]) => (text === null ? [] : [[name, text]]))),
  };
}

type Settings = readonly (readonly [string, string?])[];

/** Returns the text of the user's own ignore or attributes file. */
function userFile(key: string, standard: string, settings: Settings, env: GitOptions['env']): string | null {
  const home = env['HOME'] ?? env['USERPROFILE'] ?? '';
  const set = settings.findLast(([name]) => name === key)?.[1];
  const path = set === undefined ? join(configFolder(env), 'git', standard) : set.replace(/^~(?=\/)/, home);
  return readRegularFile(path, MOST_BYTES);
}

function configText(settings: Settings): string {
  const lines = settings.flatMap(([key, value]) => {
    if (!KEPT.test(key)) return [];
    const [section = '', name = ''] = [key.slice(0, key.indexOf('.')), key.slice(key.lastIndexOf('.') + 1)];
    const middle = key.slice(section.length + 1, Math.max(section.length + 1, key.length - name.length - 1));
    const header = middle === '' ? `[${section}]` : `[${section} ${quotedValue(middle)}]`;
    return [`${header}\n\t${name}${value === undefined ? '' : ` = ${quotedValue(value)}`}`];
  });
  const version = settings.some(([key]) => key === 'extensions.objectformat') ? 1 : 0;
  return `[core]\n\trepositoryformatversion = ${version}\n${lines.join('\n')}\n`;
}

function quotedValue(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t')}"`;
}

/** Returns a digest of the hooks that git would run: names and contents. */
function hooksDigest(folder: string): string {
  const hash = createHash('sha256').update(`${folder}\n`);
  for (const name of existsSync(folder) ? readdirSync(folder).sort() : []) {
    const path = join(folder, name);
    if (name.endsWith('.sample') || statSync(path, { throwIfNoEntry: false })?.isFile() !== true) continue;
    hash.update(`${name}\0${createHash('sha256').update(readFileSync(path)).digest('hex')}\n`);
  }
  return hash.digest('hex');
}

const PINS = 'pins';
/** File that names the commit from which the index was read. */
const READ_FROM = 'read-from';

/** Writes the loop's own git folder: objects from the repository, everything else from the pins. Keeps an existing index. */
export function writeGitView(files: LoopFiles, pins: GitPins): void {
  const path = files.gitView;
  const [known, index] = [join(path, READ_FROM), join(path, 'index')];
  const made = `${path}.new`;
  rmSync(made, { recursive: true, force: true });
  for (const folder of ['info', 'refs', 'objects/info'])
    mkdirSync(join(made, folder), { recursive: true, mode: 0o700 });
  const write = (name: string, text: string | Buffer): void => writeFileSync(join(made, name), text, { mode: 0o600 });
  for (const [name, text] of Object.entries(pins.texts)) write(name, text);
  const own = ['excludes', 'attributes'].map((name) => `\t${name}file = ${quotedValue(join(path, name))}\n`);
  write('config', `${pins.config}[core]\n${own.join('')}`);
  write('objects/info/alternates', `${pins.objects}\n`);
  if (existsSync(known) && existsSync(index)) {
    write('index', readFileSync(index));
    write(READ_FROM, readFileSync(known));
  } else if (existsSync(pins.index)) write('index', readFileSync(pins.index)); // includes staged changes: not yet read from HEAD
  write(PINS, JSON.stringify(pins));
  write('HEAD', `${pins.head}\n`);
  rmSync(path, { recursive: true, force: true });
  renameSync(made, path);
}

/** Names the settings that differ between these pins and those of the loop; empty if it has none. */
export function changedPins(files: LoopFiles, pins: GitPins): string[] {
  const before = readView(files.gitView);
  if (before === null) return [];
  const names = new Set([...Object.keys(before.texts), ...Object.keys(pins.texts)]);
  return [
    ...(before.config === pins.config ? [] : ['config']),
    ...[...names].filter((name) => before.texts[name] !== pins.texts[name]),
    ...(before.hooks === pins.hooks ? [] : ['hooks']),
  ];
}

function readView(path: string): GitPins | null {
  // torn file: no view
  return orElse(() => JSON.parse(readRegularFile(join(path, PINS), 16 * MOST_BYTES) ?? 'null') as GitPins | null, null);
}

/** Returns the working tree and the git folder of the start, whatever the repository says now; null if there are none. */
export function pinnedPlaces(view: string): { readonly top: string; readonly gitDir: string } | null {
  const pins = readView(view);
  return pins && { top: pins.top, gitDir: dirname(pins.objects) };
}

export const STATUS: readonly string[] =
  'status --porcelain=v2 -z --no-renames --untracked-files=all --ignore-submodules=none'.split(' ');

/** Returns `git status` of the working tree against the commit `head`, under the pins; null if the loop has none. */
export async function statusUnderPins(
  projectDir: string,
  head: string,
  options: GitOptions,
): Promise<GitAnswer | null> {
  const ask = await openView(projectDir, head, options);
  return ask === null ? null : ask(STATUS);
}

/** Returns a function that asks git about the working tree and the commit `head`, under the pins if the loop has a view. */
export async function askUnderPins(
  projectDir: string,
  head: string,
  options: GitOptions,
): Promise<(words: readonly string[]) => Promise<GitAnswer>> {
  return (await openView(projectDir, head, options)) ?? ((words) => runGit(projectDir, words, options));
}

/** Returns the commit that the loop's view shows; null if it has no view, or the view shows none yet. */
export function viewedCommit({ view }: GitOptions): string | null {
  return view ? readRegularFile(join(view, READ_FROM), 100) : null;
}

/** Updates the view to a commit. */
async function openView(
  projectDir: string,
  head: string,
  options: GitOptions,
): Promise<((words: readonly string[]) => Promise<GitAnswer>) | null> {
  const { view: path } = options;
  const view = path ? readView(path) : null;
  if (!path || view === null) return null;
  const ask = (words: readonly string[]) =>
    runGit(projectDir, words, { ...options, inView: { gitDir: path, workTree: view.top } });
  const mark = join(path, READ_FROM);
  if (readRegularFile(mark, 100) !== head) {
    rmSync(mark, { force: true });
    writeFileSync(join(path, 'HEAD'), `${head}\n`);
    const merged = await ask(['read-tree', '-m', head]);
    if (merged.kind !== 'answer') {
      // A killed process left a lock, or only the repository can read the index.
      for (const name of ['index', 'index.lock']) rmSync(join(path, name), { force: true });
      const read = await ask(['read-tree', head]);
      if (read.kind !== 'answer') return async () => read;
    }
    writeFileSync(mark, head);
  }
  return ask;
}

/** Writes a git folder for a copy of the working tree: the view plus the names of the repository's commits. */
export function copyGitView(view: string, to: string, head: string, refs: string): void {
  cpSync(view, to, { recursive: true });
  for (const own of [PINS, READ_FROM]) rmSync(join(to, own), { force: true });
  const config = join(to, 'config');
  const [before, now] = [view, to].map((path) => quotedValue(path).slice(0, -1)) as [string, string];
  writeFileSync(config, readFileSync(config, 'utf8').replaceAll(before, now));
  writeFileSync(join(to, 'HEAD'), `${head}\n`);
  writeFileSync(join(to, 'packed-refs'), refs);
}

/** Returns whether git would run exactly the hooks that existed when the loop began. */
export async function areHooksPinned(projectDir: string, options: GitOptions): Promise<boolean> {
  const view = options.view ? readView(options.view) : null;
  if (view === null) return true;
  const folder = await runGit(projectDir, ['rev-parse', '--git-path', 'hooks'], { ...options, keepsHooksPath: true });
  return folder.kind === 'answer' && hooksDigest(resolve(projectDir, folder.text.trimEnd())) === view.hooks;
}
