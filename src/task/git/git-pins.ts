import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { configFolder } from '../../state/home-folder.ts';
import { askPlaces, type GitAnswer, type GitOptions, type GitPins, placesIn, runGit } from './run-git.ts';

const TEXT_FILES = ['info/exclude', 'info/attributes', 'info/sparse-checkout', 'info/grafts', 'shallow'] as const;
const MOST_BYTES = 1024 * 1024;
/** Settings that affect comparisons. Excludes all settings that start programs, except content filters. */
const KEPT =
  /^(?:core\.(?:filemode|ignorecase|symlinks|autocrlf|safecrlf|eol|checkroundtripencoding|precomposeunicode|protecthfs|protectntfs|quotepath|sparsecheckout|sparsecheckoutcone|longpaths|bigfilethreshold)|filter\..*\.(?:clean|smudge|process|required)|extensions\.objectformat|submodule\..*\.ignore)$/s;

const PATHS = ['objects', 'index', 'hooks', ...TEXT_FILES].map((name) => ['--git-path', name]);
const PINNED = [['--show-toplevel'], ['HEAD^{commit}'], ...PATHS];

/** Asks git for the places of the pins and, in the same call, for `more`. */
export function askPinned(
  projectDir: string,
  options: GitOptions,
  more: readonly (readonly string[])[] = [],
): Promise<GitAnswer> {
  return runGit(projectDir, askPlaces(...PINNED, ...more), { ...options, keepsHooksPath: true });
}

/** Returns git's answers to `more`. */
export const besidesPinned = (printed: string): string[] => placesIn(printed).slice(PINNED.length);

/** Reads the pins of a repository; null if git does not answer. */
export async function readGitPins(
  projectDir: string,
  options: GitOptions,
  asked = askPinned(projectDir, options),
): Promise<GitPins | null> {
  const [places, config] = await Promise.all([
    asked,
    runGit(projectDir, ['config', '--list', '--null', '--includes'], options),
  ]);
  if (places.kind !== 'answer' || config.kind !== 'answer') return null;
  const [top = '', head = '', ...found] = placesIn(places.text).slice(0, PINNED.length);
  const [objects = '', index = '', hooks = '', ...files] = found.map((path) => resolve(projectDir, path));
  const settings = config.text.split('\0').map((entry) => entry.split(/\n(.*)/s) as [string, string?]);
  const texts = TEXT_FILES.map((name, at) => [name, readRegularFile(files[at] ?? '', MOST_BYTES)] as const);
  const listed = [
    ['excludes', userFile('core.excludesfile', 'ignore', settings, options.env)],
    ['attributes', userFile('core.attributesfile', 'attributes', settings, options.env)],
  ] as const;
  return {
    top,
    objects,
    index,
    head,
    hooks: hooksDigest(hooks),
    config: configText(settings),
    texts: Object.fromEntries([...texts, ...listed].flatMap(([name, text]) => (text === null ? [] : [[name, text]]))),
  };
}

type Settings = readonly (readonly [string, string?])[];

/** Returns the text of the user's own ignore or attributes file; null if it is missing. */
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

export function quotedValue(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t')}"`;
}

/** Returns the line that names a folder of objects in `objects/info/alternates`. */
export const alternate = (objects: string): string => `${objects.includes('\n') ? quotedValue(objects) : objects}\n`;

/** Names the settings in which two pins differ. */
export function changedPins(before: GitPins, now: GitPins): string[] {
  const names = new Set([...Object.keys(before.texts), ...Object.keys(now.texts)]);
  return [
    ...(before.config === now.config ? [] : ['config']),
    ...[...names].filter((name) => before.texts[name] !== now.texts[name]),
    ...(before.hooks === now.hooks ? [] : ['hooks']),
  ];
}

/** Returns whether git would run exactly the hooks of the loop's start; true for a loop without a view. */
export async function areHooksPinned(projectDir: string, options: GitOptions): Promise<boolean> {
  const { view } = options;
  if (!view) return true;
  const folder = await runGit(projectDir, ['rev-parse', '--git-path', 'hooks'], { ...options, keepsHooksPath: true });
  return folder.kind === 'answer' && hooksDigest(resolve(projectDir, folder.text.trimEnd())) === view.pins.hooks;
}
