import { existsSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, relative } from 'node:path';
import { commandLine, type Message, type MessageContext, PROGRAM, render } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import { onPath } from './find-program.ts';

interface Invocation {
  /** Path of the file that node runs: `process.argv[1]`. */
  readonly script: string | undefined;
  readonly path: string | undefined;
  readonly cwd: string;
  /** True if npx or a package manager's script runs it, with folders on the PATH that the user's shell lacks. */
  readonly isPackaged?: boolean;
}

const DEFAULT_LOOP = { name: null, mode: 'hook' } as const;

let elsewhere: MessageContext['elsewhere'];

/** Remembers the project of this process's command, so that messages name it to a user in another folder. */
export function rememberProject(dir: string, isFound: boolean): void {
  elsewhere = dir === workingFolder() ? undefined : { dir, isFound };
}

/** Returns what a command line needs for this user to type it in their folder: the program and, from elsewhere, the project. */
export function callHere(): Pick<MessageContext, 'program' | 'elsewhere'> {
  return { program: programName(), elsewhere };
}

/** Returns the command line that this user can type in their folder, for a command in literal words. */
export function lineHere(command: string): string {
  return commandLine({ command }, { ...DEFAULT_LOOP, ...callHere() });
}

/** Renders a message for people, with the program spelled as this user can call it. */
export function show(message: Message | string, loop: Pick<MessageContext, 'name' | 'mode'> = DEFAULT_LOOP): string {
  return render(message, { name: loop.name, mode: loop.mode, ...callHere() });
}

/** Returns a message for the user, with the program's name before it. */
export function withPrefix(message: Message | string, loop?: Pick<MessageContext, 'name' | 'mode'>): string {
  return `ralph-loop: ${show(message, loop)}`;
}

/** Returns the commands of a message, with the program spelled as this user can call it. */
export function stepsOf({ advice = [], loop }: Message, { name, mode }: Pick<MessageContext, 'name' | 'mode'>) {
  const context = { ...(loop ?? { name, mode }), ...callHere() };
  return advice.map((each) => {
    const verb = mode === 'runner' ? each.verb : each.verb + (each.inSession ?? '');
    return { verb, command: commandLine(each, context) };
  });
}

/** Returns the bundle of the running hook or command; null if it runs from elsewhere, as in tests. */
export function runningBundle(): string | null {
  const script = process.argv[1];
  if (script === undefined || !script.endsWith('.cjs') || !BUNDLE_PARTS.has(basename(dirname(script)))) return null;
  const bundle = dirname(dirname(script));
  return existsSync(join(bundle, 'scripts', 'main.cjs')) ? bundle : null;
}

const BUNDLE_PARTS = new Set(['hooks', 'scripts']);

/** Returns the path of a hook in a project, with a leading slash. */
export const inProject = (file: string): string => `/.claude/hooks/${file.replace(/^(?!ralph-)/, 'ralph-')}`;

/** Returns the path of a hook of a bundle. In a project, hooks are in .claude/hooks with the prefix `ralph-`. */
export function hookPath(bundle: string, file: string): string {
  const own = join(bundle, 'hooks', file);
  return existsSync(own) ? own : join(bundle, '..', '..', '..', inProject(file));
}

/** Returns a file of a bundle that is missing and without which its guard denies every call; null if none is. */
export function missingProgram(bundle: string | null): string | null {
  if (bundle === null) return null;
  const files = [join(bundle, 'scripts', 'main.cjs'), hookPath(bundle, 'pre-tool-use.cjs')];
  return files.find((file) => !existsSync(file)) ?? null;
}

let known: string | null = null;

/** Returns the program as this user can call it. Searches the PATH once per process. */
export function programName(): string {
  const { PATH: path, npm_config_user_agent: manager } = process.env;
  known ??= spelling({ script: process.argv[1], path, cwd: workingFolder(), isPackaged: manager !== undefined });
  return known;
}

/** Returns the working folder; the root if it was removed. */
function workingFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '/';
    throw error;
  }
}

/**
 * Returns a loop with the program that works on it now, for the commands in its messages: an update moves the bundle to another
 * folder during a loop.
 */
export function withThisProgram<T extends { readonly program?: string | undefined }>(loop: T): T {
  const isPath = loop.program !== undefined && loop.program !== PROGRAM;
  return isPath ? { ...loop, program: programName() } : loop;
}

/** Returns `ralph-loop` if it is on the user's PATH or was called; otherwise the path to call, relative within `cwd`. */
export function spelling({ script, path = '', cwd, isPackaged = false }: Invocation): string {
  if (script === undefined) return PROGRAM;
  const isShim = basename(dirname(script)) === '.bin';
  const folders = path
    .split(delimiter)
    .filter((folder) => (!isPackaged || basename(folder) !== '.bin') && !isOfPlugin(folder));
  if ((basename(script) === PROGRAM && !isShim) || isOnPath(folders.join(delimiter))) return PROGRAM;
  const isMain = isShim || basename(script) === 'main.cjs';
  const main = isMain ? script : join(dirname(dirname(script)), 'scripts', 'main.cjs');
  if (!existsSync(main)) return PROGRAM;
  const inside = relative(cwd, main);
  const shown = quoted(inside.startsWith('..') || isAbsolute(inside) ? main : inside);
  return isShim ? shown : `node ${shown}`;
}

/** Returns whether a folder is the `bin` of a plugin, which is on the PATH of the agent's shell but not on the user's. */
function isOfPlugin(folder: string): boolean {
  return basename(folder) === 'bin' && existsSync(join(folder, '..', 'scripts', 'main.cjs'));
}

function isOnPath(path: string): boolean {
  const names = process.platform === 'win32' ? [`${PROGRAM}.cmd`, `${PROGRAM}.exe`] : [PROGRAM];
  return names.some((name) => onPath(name, { PATH: path }) !== null);
}
