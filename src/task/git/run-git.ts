import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, lstatSync, mkdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Sandbox } from '../../engine/schema/contract.ts';
import { type Confinement, confine } from '../../sandbox/bubblewrap.ts';
import { gateEnvironment, gitSettings } from '../../sandbox/environment.ts';
import { isOfDeadProcess, namesIn, uniqueToken } from '../../state/files/regular-file.ts';
import { onPath } from '../../state/process/find-program.ts';
import { runToEnd } from '../../state/process/run-to-end.ts';

/** Settings that decide how git sees a working tree, as of the loop's start. */
export interface GitPins {
  readonly top: string;
  readonly objects: string;
  /** Index file of the repository: the loop's own index begins as a copy, so that unchanged files are not read again. */
  readonly index: string;
  readonly head: string;
  readonly config: string;
  /** Contents of files of the git folder, by their path in it. */
  readonly texts: Readonly<Record<string, string>>;
  readonly hooks: string;
}

/**
 * Copies an index with its time. git compares the content of a file unless the file is older than the index; otherwise it trusts
 * size and time, which two changes within a second may leave the same.
 */
export function copyIndex(from: string, to: string): void {
  // An earlier time makes git compare more files.
  const seconds = Math.floor(statSync(from).mtimeMs / 1_000);
  copyFileSync(from, to);
  utimesSync(to, seconds, seconds);
}

/** A loop's own look at its repository: git with the settings of the start, and an index that only the loop writes. */
export interface GitView {
  readonly folder: string;
  readonly pins: GitPins;
  /** Returns the trusted index; null if it has to be read again. */
  readonly index: () => ViewIndex | null;
  readonly keepIndex: (index: ViewIndex) => void;
}

export interface ViewIndex {
  /** Commit from which it was read; null for a copy of the repository's index, which includes staged changes. */
  readonly commit: string | null;
  readonly sha256: string;
}

export interface GitOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly timeMs?: number;
  /** Bytes of output beyond which git is killed. Default: enough for about thirty thousand changed files. */
  readonly mostOutput?: number;
  /** Ends the query; absent for a query that is never aborted. */
  readonly signal?: AbortSignal;
  /** The loop's view of the repository, if it has one. */
  readonly view?: GitView | null | undefined;
  /** `view`: git uses this folder and working tree, and only the folder's configuration. */
  readonly inView?: { readonly gitDir: string; readonly workTree: string };
  /** Keeps the setting for the location of the user's hooks. */
  readonly keepsHooksPath?: boolean;
  /** Further folder that git may write to, in the loop's sandbox; default: none. */
  readonly writable?: string;
  /** Sandbox of the loop: settings by the agent, also in a nested repository, may name a program to run. */
  readonly sandbox?: Sandbox | undefined;
}

/** Returns the parts of an answer to a call with `-z`. */
export function partsOf(text: string): string[] {
  return text.split('\0').filter((part) => part !== '');
}

export type GitAnswer =
  | { readonly kind: 'answer'; readonly text: string }
  | { readonly kind: 'failed'; readonly code: number | null; readonly said: string }
  | { readonly kind: 'missing' | 'time' | 'output' };

const MOST_OUTPUT = 4 * 1024 * 1024;

/** Empty file for git. Taking the constant from node:os would load that module in every hook. */
export const NO_FILE = process.platform === 'win32' ? '\\\\.\\nul' : '/dev/null';

/** Messages of commits are written and read as UTF-8, whatever the user's terminal takes. */
const ENCODINGS: Settings = [
  ['i18n.commitEncoding', 'UTF-8'],
  ['i18n.logOutputEncoding', 'UTF-8'],
];

/** Overrides of repository settings that start programs or hide files. */
const SETTINGS: Settings = [
  ...ENCODINGS,
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', NO_FILE],
  ['core.untrackedCache', 'false'],
  ['log.showSignature', 'false'],
  ['submodule.recurse', 'false'],
];

/** Queries git without locks, writes, network, prompts or programs of the repository. Rejects only with the abort reason. */
export async function runGit(
  directory: string,
  words: readonly string[],
  given: GitOptions,
  settings: Settings = [],
): Promise<GitAnswer> {
  const { env, signal, mostOutput: maxBuffer = MOST_OUTPUT } = given;
  signal?.throwIfAborted();
  const program = onPath('git', env);
  if (program === null) return { kind: 'missing' };
  const answer = await new Promise<GitAnswer>((resolve) => {
    const call = confinedCall(program, words, directory, given, settings);
    execFile(call.program, call.words, { ...call.options, maxBuffer }, (error, text, complaint) =>
      resolve(error === null ? { kind: 'answer', text } : failure(error, complaint)),
    );
  });
  signal?.throwIfAborted();
  return answer;
}

/** Settings of git, as keys and values. */
export type Settings = readonly (readonly [string, string])[];

function confinedCall(program: string, words: readonly string[], cwd: string, given: GitOptions, more: Settings) {
  const { timeMs: timeout = 30_000, signal, sandbox: terms, view, inView, writable } = given;
  const places = writable === undefined ? { writable: view?.folder ?? '' } : { writable, gitDir: inView?.gitDir ?? '' };
  // A copy of the work tree has its objects in the repository of the view.
  const around = outermostRepository(inView && view ? view.pins.top : cwd);
  const sandbox = terms && { terms, ...places, readable: around };
  const own = { program, words, directory: cwd, env: gitEnvironment(given, more) };
  const { env, ...call } = confine(sandbox, own);
  const options = { cwd, env: { ...env }, timeout, killSignal: 'SIGKILL' as const, windowsHide: true, signal };
  return { ...call, options };
}

/** Returns the outermost repository, which contains the git folders of its worktrees. */
function outermostRepository(directory: string): string {
  let found = directory;
  for (let at = directory; at !== dirname(at); at = dirname(at)) if (existsSync(join(at, '.git'))) found = at;
  return found;
}

/**
 * Returns the folder of the repository to which this git folder of a linked worktree belongs; any other git folder as it is. Goes by the
 * path alone: the agent may have written into the folder's files that the repository is somewhere else.
 */
export function sharedGitDir(gitDir: string): string {
  const shared = dirname(dirname(gitDir));
  return basename(dirname(gitDir)) === 'worktrees' && existsSync(join(shared, 'objects')) ? shared : gitDir;
}

/** Returns the folders that git needs to write to the repository of a working tree, for a sandbox. */
export function gitPlaces(top: string, gitDir: string): Omit<Confinement, 'terms'> {
  return { writable: top, readable: outermostRepository(top), gitDir: sharedGitDir(gitDir) };
}

function failure(error: Error & { code?: unknown; killed?: boolean | undefined }, complaint: string): GitAnswer {
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return { kind: 'output' };
  if (error.killed === true) return { kind: 'time' };
  return { kind: 'failed', code: typeof error.code === 'number' ? error.code : null, said: complaint.trim() };
}

/** Drops git variables that select another repository or write traces; keeps those of the user's configuration. */
function gitEnvironment({ env, view, inView, keepsHooksPath }: GitOptions, more: Settings): NodeJS.ProcessEnv {
  const settings = [...SETTINGS.filter(([key]) => !keepsHooksPath || key !== 'core.hooksPath'), ...more];
  const given: Record<string, string | undefined> = {};
  for (const [key, value] of Object.entries(env)) {
    const isUsers = !inView && /^GIT_CONFIG_(?!PARAMETERS$)/.test(key);
    if (!key.startsWith('GIT_') || isUsers) given[key] = value;
  }
  return {
    ...given,
    ...gitSettings(given, settings),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_PAGER: 'cat',
    LC_ALL: 'C',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_NO_LAZY_FETCH: '1',
    ...plainHistory(inView?.gitDir ?? view?.folder ?? null),
    ...(inView && viewEnvironment(inView)),
  };
}

/** Makes git ignore replaced objects and all grafts but the pinned ones; with pins, also later shallow boundaries. */
function plainHistory(pinned: string | null): Record<string, string> {
  return {
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_GRAFT_FILE: pinned === null ? NO_FILE : join(pinned, 'info', 'grafts'),
    ...(pinned !== null && { GIT_SHALLOW_FILE: join(pinned, 'shallow') }),
  };
}

function viewEnvironment({ gitDir, workTree }: NonNullable<GitOptions['inView']>): Record<string, string> {
  return {
    GIT_DIR: gitDir,
    GIT_WORK_TREE: workTree,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: NO_FILE,
    GIT_ATTR_NOSYSTEM: '1',
    // The index is the loop's own and keeps the results of a status.
    GIT_OPTIONAL_LOCKS: '1',
  };
}

export interface GitChange {
  readonly directory: string;
  readonly words: readonly string[];
  readonly input?: string;
  readonly env: NodeJS.ProcessEnv;
  /** True if the repository's hooks run; they do not by default. */
  readonly hooks?: boolean;
  readonly sandbox?: Confinement | undefined;
}

/** `text`: the standard output. */
export type GitChanged =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly said: string; readonly code: number | null; readonly text: string };

/** Time limit: commit hooks may run a complete test suite. */
const TIME_MS = 600_000;
const MOST_SAID = 8_000;
const MOST_CHANGED = 64 * 1024 * 1024;

const wordsOf = (settings: Settings): string[] => settings.flatMap(([key, value]) => ['-c', `${key}=${value}`]);

export const WITHOUT_HOOKS = wordsOf(SETTINGS);

/** Runs git with the user's configuration and signatures. Never aborted: half a commit is worse than a late one. */
export async function changeByGit(change: GitChange): Promise<GitChanged> {
  const { directory, words, input = '', env, hooks, sandbox } = change;
  const git = onPath('git', env);
  if (git === null) return { ok: false, said: 'git was not found on the PATH.', code: null, text: '' };
  const own = { GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: 'true', GIT_NO_REPLACE_OBJECTS: '1' };
  const plain = { ...withoutPlace(gateEnvironment(env)), ...own };
  const shown = [...(hooks ? wordsOf(ENCODINGS) : WITHOUT_HOOKS), ...words];
  const call = confine(sandbox, { program: git, words: shown, directory, env: plain });
  const run = { cwd: directory, env: call.env, input, timeMs: TIME_MS, mostOutput: MOST_CHANGED };
  const { code, output, complaint } = await runToEnd(call.program, call.words, run);
  const text = output.toString('utf8');
  if (code === 0) return { ok: true, text };
  const how = code === null ? 'failed' : `exit code ${code}`;
  const said = `${text.slice(-MOST_SAID)}\n${complaint}`.trim();
  const name = words.find((word) => !word.startsWith('-')) ?? '';
  return { ok: false, said: `git ${name}: ${how}.\n${said}`, code, text };
}

const PLACES = new Set([
  ...['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_COMMON_DIR', 'GIT_PREFIX', 'GIT_NAMESPACE'],
  ...['GIT_OBJECT_DIRECTORY', 'GIT_ALTERNATE_OBJECT_DIRECTORIES'],
  ...['GIT_LITERAL_PATHSPECS', 'GIT_GLOB_PATHSPECS', 'GIT_NOGLOB_PATHSPECS', 'GIT_ICASE_PATHSPECS'],
]);

/** Returns the environment without the variables that choose another repository or other files for the same paths. */
export function withoutPlace(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([key]) => !PLACES.has(key)));
}

type Ask = (words: readonly string[], settings?: Settings) => Promise<GitAnswer>;

const PROGRAMS_OF_FILTERS = [
  ...['config', '--null', '--show-scope', '--includes', '--name-only', '--get-regexp'],
  '^filter\\..*\\.(clean|smudge|process|required)$',
];

/** Queries git with filter programs of the repository's configuration disabled, which git runs to compare contents. */
export async function askWithoutFilters(ask: Ask, words: readonly string[]): Promise<GitAnswer> {
  const filters = await ask(PROGRAMS_OF_FILTERS);
  const hasNone = filters.kind === 'failed' && filters.code === 1;
  if (filters.kind !== 'answer' && !hasNone) return filters;
  return ask(words, filters.kind === 'answer' ? withoutPrograms(filters.text) : []);
}

/** Returns an environment whose settings keep git, called as by the user, from running the repository's programs. */
export async function withoutItsPrograms(directory: string, env: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  const filters = await runGit(directory, PROGRAMS_OF_FILTERS, { env });
  const settings = [...SETTINGS, ...(filters.kind === 'answer' ? withoutPrograms(filters.text) : [])];
  return { ...env, ...gitSettings(env, settings) };
}

function withoutPrograms(answer: string): Settings {
  const parts = answer.split('\0');
  const names = new Set<string>();
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const key = parts[at + 1] ?? '';
    if (parts[at] === 'local' || parts[at] === 'worktree') names.add(key.slice(0, key.lastIndexOf('.')));
  }
  const off = [['clean', ''] as const, ['process', ''] as const, ['required', 'false'] as const];
  return [...names].flatMap((name) => off.map(([key, value]) => [`${name}.${key}`, value] as const));
}

const OURS = /^ralph-(?:index|plain|rules)-(.+)$/;
/** Age below which a folder is kept: its process, if in another container, looks dead from here. */
const YOUNG_MS = 3_600_000;

/** Makes a temporary folder in a git folder, where the sandbox can write, and removes those left by killed processes. */
export function workFolder(gitDir: string, purpose: 'index' | 'plain' | 'rules'): string {
  for (const name of namesIn(gitDir)) {
    const path = join(gitDir, name);
    if (!isOfDeadProcess(OURS.exec(name)?.[1] ?? '')) continue;
    const there = lstatSync(path, { throwIfNoEntry: false });
    if (there?.isDirectory() && Date.now() - there.mtimeMs > YOUNG_MS) rmSync(path, { recursive: true, force: true });
  }
  const folder = join(gitDir, `ralph-${purpose}-${uniqueToken()}`);
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

/** Option unknown to git, which prints it unchanged. Since paths may contain line ends, it separates the answers. */
const BETWEEN = '--ralph-loop-next';

/** Returns the arguments for one `git rev-parse` that answers several questions. */
export function askPlaces(...questions: readonly (readonly string[])[]): string[] {
  return ['rev-parse', ...questions.flatMap((words) => [BETWEEN, ...words]).slice(1)];
}

/** Returns the answers to these questions, in their order, or the only answer of another `git rev-parse`. */
export function placesIn(printed: string): string[] {
  return printed.replace(/\n$/, '').split(`\n${BETWEEN}\n`);
}
