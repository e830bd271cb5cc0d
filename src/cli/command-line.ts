import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { projectOfLoop } from '../drive/worktree/worktree-place.ts';
import { textOrNull } from '../hosts/fields.ts';
import { projectDirOf } from '../install/project-dir.ts';
import { BUNDLE_HOME, bundleDir } from '../install/project-files.ts';
import { MARK } from '../sandbox/environment.ts';
import { exclusionText, SANDBOX_TEXTS } from '../sandbox/messages.ts';
import { LOOP_NAME, loopFiles, outsideRoot } from '../state/loop-files.ts';
import { rememberProject, withPrefix } from '../state/process/program.ts';
import { painter, printable } from '../term/format.ts';
import { isTerminal, printText, writeText } from '../term/write-text.ts';
import { advise, type LoopMode, type Message, type MessageContext, RalphError } from '../text/message.ts';
import { COMMON_OPTIONS, type Command, commandName, parseOptions } from './command.ts';
import { COMMANDS } from './commands.ts';
import { commandHelp, commandList, VERSION } from './help.ts';
import { isAgent, refuseAgent } from './refuse-agent.ts';

/** Commands about a loop, which may be in a worktree; all other commands are about the project. */
export const ABOUT_A_LOOP = new Set(
  'status attach explain logs stop cancel pause resume wake steer accept archive reset'.split(' '),
);

/** Commands whose answer is one line of JSON in the skill's document: `main.cjs status | post-execute.cjs`. */
const ANSWERS_IN_PIPES = new Set(['status', 'reset', 'config']);

/** Returns whether the program was called by its path in a project, as in that document, and not as `ralph-loop`. */
function isCopyInProject(script = ''): boolean {
  return resolve(script).split(sep).join('/').endsWith(`/${BUNDLE_HOME}/scripts/main.cjs`);
}

const MODES: Readonly<Record<string, LoopMode>> = { run: 'runner', router: 'router' };

/** Loop that the command is about, for the commands advised by an error. */
let loop: Pick<MessageContext, 'name' | 'mode'> = { name: null, mode: 'hook' };

/** Runs one command line and sets the exit code of the process. */
export async function main(argv: readonly string[]): Promise<void> {
  try {
    process.exitCode = await dispatch(argv);
  } catch (error) {
    const { message, stack } = error as Error;
    const confined = withinSandbox(error, argv);
    const known = error instanceof RalphError || !stack ? message : systemErrorText(error);
    const advised = confined ?? (error instanceof RalphError ? error.advised : known);
    // The message may quote text by others.
    printText(2, printable(withPrefix(advised ?? `internal error, please report it: ${stack}`, loop)));
    process.exitCode = 1;
  }
}

/** Returns advice for an agent whose command failed in a sandbox, the user's or the loop's; null for other errors. */
function withinSandbox(error: unknown, [command]: readonly string[]): string | null {
  const { env } = process;
  if ((command !== 'router' && command !== 'tdd') || !isAgent(env)) return null;
  // A sandbox within a sandbox is refused before anything is written.
  const isNested = error instanceof RalphError && error.code === 'sandbox-missing' && env['SANDBOX_RUNTIME'] === '1';
  const path = isNested ? outsideRoot(env) : readOnlyPath(error);
  if (path === null) return null;
  if (env[MARK] !== undefined) return SANDBOX_TEXTS.callAlone(path);
  return exclusionText(path, command, join(bundleDir(), 'scripts', 'main.cjs'), loop.name);
}

async function dispatch(argv: readonly string[]): Promise<number> {
  const [first] = argv;
  if (first === '--version' || first === '-v') return say(VERSION);
  if (first === '--help' || first === '-h' || first === 'help') {
    if (argv[1] === undefined || argv[1].startsWith('-')) return say(commandList());
    const topic = loaderOf(argv[1]);
    return topic === undefined ? unknownCommand(argv[1]) : say(commandHelp(await topic()));
  }
  const { name, args } = commandName(argv);
  if (name === null) {
    printText(2, `ralph-loop: no command given.\n\n${commandList()}`);
    return 1;
  }
  const load = loaderOf(name);
  return load === undefined ? unknownCommand(name) : run(await load(), args);
}

function loaderOf(name: string): (() => Promise<Command>) | undefined {
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
}

async function unknownCommand(name: string): Promise<number> {
  const hint = await didYouMean(name, Object.keys(COMMANDS));
  return misused({ text: `unknown command ${name}.${hint}`, advice: [{ verb: 'Commands', command: '--help' }] });
}

async function didYouMean(word: string, known: readonly string[], prefix = ''): Promise<string> {
  const { nearestKey } = await import('../task/frontmatter/canonical-keys.ts');
  const nearest = nearestKey(word, [...known]);
  return nearest === null ? '' : ` Did you mean ${prefix}${nearest}?`;
}

function misused(message: Message): number {
  printText(2, withPrefix(message));
  return 1;
}

async function run(command: Command, args: readonly string[]): Promise<number> {
  const parsed = parseOptions(command, args);
  if (parsed.problem !== null) {
    const known = Object.keys({ ...command.options, ...COMMON_OPTIONS });
    const hint = parsed.unknown === undefined ? '' : await didYouMean(parsed.unknown, known, '--');
    return misused(advise(`${parsed.problem}${hint}`, 'Help', `${command.name} --help`));
  }
  const { values, positionals, rest } = parsed;
  if (values['help'] === true) return say(commandHelp(command));
  const { env } = process;
  if (command.control) refuseAgent(command.name, env);
  const given = textOrNull(values['project']);
  // `init` sets up the current directory.
  const where = { env, cwd: process.cwd(), search: command.name !== 'init' };
  const found = projectDirOf({ ...where, given: null });
  const project = given === null ? found : projectDirOf({ ...where, given });
  rememberProject(project, project === found);
  const name = loopName(textOrNull(values['loop']) ?? (env['RALPH_LOOP'] || null));
  loop = { name, mode: MODES[command.name] ?? 'hook' };
  const projectDir = ABOUT_A_LOOP.has(command.name) ? projectOfLoop(project, name, env) : project;
  const inPipe = ANSWERS_IN_PIPES.has(command.name) && isCopyInProject(process.argv[1]) && !isTerminal(1);
  const forPeople = values['json'] !== true && !inPipe;
  const json = (data: object): void => writeText(1, JSON.stringify(data, null, inPipe ? 0 : 2));
  const atTerminal = forPeople && isTerminal(1);
  return command.run({
    values,
    positionals,
    rest,
    env,
    projectDir,
    files: loopFiles(projectDir, name, env),
    forPeople,
    atTerminal,
    mayAsk: atTerminal && process.stdin.isTTY === true,
    paint: painter(atTerminal, env),
    now: () => new Date().toISOString(),
    out: (text) => (forPeople ? printText : writeText)(1, text),
    err: (text) => printText(2, text),
    json,
    answer: (data, text) => (forPeople ? printText(1, text()) : json(data)),
  });
}

function say(line: string): number {
  printText(1, line);
  return 0;
}

export function loopName(name: string | null): string | null {
  if (name === null || LOOP_NAME.test(name)) return name;
  throw new RalphError(
    'usage',
    `"${name}" is not a valid loop name: use at most 64 letters, digits, ".", "_" and "-", beginning with a letter or digit.`,
  );
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: "this user's quota is exhausted",
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  ENOMEM: 'the memory is full',
  EIO: 'the disk reported an error',
  ENOTDIR: 'a file exists where a folder is needed',
  EISDIR: 'a folder exists where a file is needed',
  ELOOP: 'it is a link to itself',
  ENAMETOOLONG: 'the name is too long',
};

/** End of the name of a draft (`uniqueToken`), which the user knows by the name of its file. */
const DRAFT = /\.[0-9a-z]+-[0-9a-z]+-[0-9a-z]{9,}(?:\.tmp)?$/;
/** Codes for a folder that cannot be created because a file is in the way. */
const IN_THE_WAY = ['EEXIST', 'ENOENT', 'ELOOP'];

/** Explains a failed system call to the user; returns null for an error that is a bug of this program. */
export function systemErrorText(error: unknown, refusal = whyNotWritable): string | null {
  // When a draft is renamed, the error names the file that it replaces.
  const { path, syscall, dest } = error as NodeJS.ErrnoException & { readonly dest?: string };
  const place = (syscall === 'rename' ? (dest ?? path) : path)?.replace(DRAFT, '');
  if (syscall === 'uv_cwd') return 'the current folder no longer exists. Change to another one: cd DIR';
  const code = codeOf(error, refusal);
  const inTheWay = syscall === 'mkdir' && code !== undefined && IN_THE_WAY.includes(code);
  const known = code !== undefined && Object.hasOwn(REASONS, code) ? REASONS[code] : undefined;
  // For other calls, it means that they would have to wait.
  const isFull = code === 'EAGAIN' && syscall?.startsWith('spawn');
  const whyNot = isFull ? 'the system can start no further process' : known;
  const reason = inTheWay ? 'a file or a broken link exists where a folder is needed' : whyNot;
  if (reason === undefined || syscall === undefined) return null;
  return `${place ?? 'a file'} cannot be used: ${reason} (${code}, ${syscall}). Fix this and run the command again; no loop data is lost.`;
}

/** Returns the path that a system error reports as read-only, or null. */
function readOnlyPath(error: unknown): string | null {
  const { path } = error as NodeJS.ErrnoException;
  return codeOf(error, whyNotWritable) === 'EROFS' && path !== undefined ? path : null;
}

/** Returns the error's code. Node.js reports ENOENT for nested folders that it cannot create on a read-only file system. */
function codeOf(error: unknown, refusal: typeof whyNotWritable): string | undefined {
  const { path, syscall, code } = error as NodeJS.ErrnoException;
  const hidden = syscall === 'mkdir' && code === 'ENOENT' && path !== undefined ? refusal(nearest(path)) : null;
  return hidden ?? code;
}

/** Returns the nearest existing folder above a path. */
function nearest(path: string): string {
  const above = dirname(path);
  return existsSync(above) || above === path ? above : nearest(above);
}

/** Returns the system's error code if nothing can be created in a folder, else null. */
function whyNotWritable(folder: string): string | null {
  try {
    accessSync(folder, constants.W_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? null;
  }
}
