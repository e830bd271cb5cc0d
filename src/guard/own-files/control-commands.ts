import { basename, isAbsolute } from 'node:path';
import type { Guard } from '../guard.ts';
import { controlDenied } from '../messages.ts';
import { isShell, NODE_LIKE } from '../shell/program-words.ts';
import type { FileAccess, ShellCommand, ShellReading, ShellWord } from '../shell/shell-reading.ts';
import { splitOptions } from '../shell/words.ts';
import { comparablePath, realPath } from './comparable-path.ts';
import { controlProgramIn, isControlBinary, isLauncher } from './control-program.ts';
import { isBelowProject } from './own-files.ts';

const NODE_VALUES =
  '-r -C -e -p --require --import --loader --experimental-loader --env-file --eval --print --conditions --input-type --title';
/** Options with which the user agrees to something, of commands that serve agents otherwise. */
const USERS_WORDS = new Set(['--consent', '--accept']);
/** bun run x, deno run x. */
const RUN = /^(run|eval|exec)$/;

/** Returns the denial message if this command runs the control program with a subcommand that agents may not use. */
export function controlCommandDenial(command: ShellCommand, guard: Guard): string | undefined {
  const invocation = invocationOf(command, guard);
  const preloaded = preloadedProgram(command, guard);
  if (preloaded !== undefined) return controlDenied(`${command.source} loads ${preloaded}`, guard.rules.agentCommands);
  if (invocation === undefined) return undefined;
  const { program, args } = invocation;
  const deny = (what: string): string => controlDenied(what, guard.rules.agentCommands);
  const [subcommand] = args;
  if (isLauncher(program) && !isControlBinary(program)) {
    return subcommand?.text === '--help' ? undefined : deny(`${program} starts a loop`);
  }
  if (subcommand === undefined) return undefined;
  if (subcommand.text === null || subcommand.glob === true) return deny('the subcommand is known only at run time');
  if (guard.rules.agentCommands.includes(subcommand.text)) {
    const word = args.find(({ text }) => text !== null && USERS_WORDS.has(text));
    return word === undefined ? undefined : deny(`${subcommand.text} ${word.text} is the user's word`);
  }
  return deny(`"${subcommand.text}" is not a command for agents`);
}

interface Invocation {
  readonly program: string;
  readonly args: readonly ShellWord[];
}

function invocationOf(command: ShellCommand, guard: Guard): Invocation | undefined {
  const [first, ...rest] = command.argv;
  if (first === undefined) return undefined;
  if (isControlBinary(command.name)) return { program: command.name, args: rest };
  const itself = controlProgramIn(first, command.cwdTemplate, guard);
  if (itself !== undefined) return { program: itself, args: rest };
  if (isShell(command.name) || command.name === 'source' || command.name === '.') {
    // `bash -n` only checks the syntax.
    if (rest.some((word) => /^-[a-z]*n[a-z]*$/.test(word.template))) return undefined;
    const at = rest.findIndex((word) => !word.template.startsWith('-'));
    const script = rest[at];
    const program = script === undefined ? undefined : controlProgramIn(script, command.cwdTemplate, guard);
    return program === undefined ? undefined : { program, args: rest.slice(at + 1) };
  }
  if (!NODE_LIKE.has(command.name)) return undefined;
  let { operands } = splitOptions(rest, NODE_VALUES, true);
  if (command.name !== 'node' && RUN.test(operands[0]?.template ?? ''))
    operands = splitOptions(operands.slice(1), NODE_VALUES, true).operands;
  const script = operands[0];
  if (script === undefined) return undefined;
  const program = controlProgramIn(script, command.cwdTemplate, guard);
  return program === undefined ? undefined : { program, args: operands.slice(1) };
}

/** `node -r main.cjs`, `NODE_OPTIONS=--require=main.cjs`, `BASH_ENV=launcher.sh`. */
function preloadedProgram(command: ShellCommand, guard: Guard): string | undefined {
  const named = (text: string): string | undefined =>
    text
      .split(/[\s=]+/)
      .map((piece) => controlProgramIn({ text: piece, template: piece, source: piece }, command.cwdTemplate, guard))
      .find((program) => program !== undefined);
  for (const { name, value } of command.assignments) {
    const program = /^(NODE_OPTIONS|BASH_ENV|ENV)$/.test(name) && value !== null ? named(value) : undefined;
    if (program !== undefined) return program;
  }
  if (!NODE_LIKE.has(command.name)) return undefined;
  const { options } = splitOptions(command.argv.slice(1), NODE_VALUES, true);
  const loads = options.find(
    (option) => /^(-r|--require|--import|--loader|--experimental-loader)$/.test(option.name) && option.value,
  );
  const program = loads?.value === undefined ? undefined : controlProgramIn(loads.value, command.cwdTemplate, guard);
  return program === undefined ? undefined : basename(program);
}

const COPIERS = new Set(['cp', 'mv', 'ln', 'install', 'rsync', 'dd', 'scp', 'ditto', 'tar', 'zip', '7z']);
/** Programs that pass on their input unchanged or reversibly. */
const CARRIERS = new Set([
  ...['cat', 'tac', 'dd', 'tee', 'head', 'tail', 'sed', 'awk', 'gawk', 'base64', 'xxd', 'gzip', 'xz', 'zstd', 'bat'],
  ...['sponge', 'cpio', 'openssl', 'nl', '<'],
]);

/** A copy of the control program made elsewhere, or its text handed to an interpreter. Gives the message. */
export function controlCopyDenial(reading: ShellReading, guard: Guard): string | undefined {
  const uses = [
    ...reading.reads,
    ...reading.writes.filter((write) => write.how === 'link-source' || write.how === 'move'),
  ];
  for (const use of uses) {
    const program = programIn(use, guard);
    if (program === undefined) continue;
    const deny = (what: string): string => controlDenied(`${what} ${program}`, guard.rules.agentCommands);
    if (COPIERS.has(use.by)) return deny(`${use.by} would copy`);
    if (NODE_LIKE.has(use.by) && !isArgument(use, reading)) return deny(`${use.by} would run`);
    if (isShell(use.by)) return deny(`${use.by} would run`);
    const carries = CARRIERS.has(use.by);
    if (carries && writesElsewhere(use, reading)) return deny(`${use.by} would copy`);
    if (carries && pipedOn(use, reading)) return deny(`${use.by} would hand on`);
  }
  return undefined;
}

/** The program itself, or a directory with it that is more than "the whole project". */
function programIn(use: FileAccess, guard: Guard): string | undefined {
  const direct = controlProgramIn(use.word, use.cwdTemplate, guard);
  if (direct !== undefined) return direct;
  const path = use.word.text;
  if (path === null || !COPIERS.has(use.by) || (!isAbsolute(path) && use.cwd === null)) return undefined;
  if (!isBelowProject(path, use.cwdTemplate, guard)) return undefined;
  const absolute = isAbsolute(path) ? path : `${use.cwdTemplate}/${path}`;
  const forms = [absolute, realPath(absolute)].map((each) => comparablePath(each, guard.rules.caseInsensitive));
  return guard.control.find((program) => forms.some((form) => program.startsWith(`${form}/`)));
}

/** `node main.cjs` reads its script as an argument; that is evaluated as an invocation. */
function isArgument(use: FileAccess, reading: ShellReading): boolean {
  return reading.commands.some(
    (command) => command.position === use.position && command.argv.some((word) => word === use.word),
  );
}

function writesElsewhere(use: FileAccess, reading: ShellReading): boolean {
  return reading.writes.some(
    (write) =>
      write.by === use.by &&
      (write.how === 'redirect' || write.how === 'argument') &&
      covers(use, write, reading) &&
      write.target !== '/dev/null',
  );
}

function covers(read: FileAccess, write: FileAccess, reading: ShellReading): boolean {
  const command = reading.commands.find((each) => each.name === read.by && each.argv.includes(read.word));
  if (command === undefined) return true;
  return write.position >= command.position && write.position <= command.position + command.source.length;
}

function pipedOn(use: FileAccess, reading: ShellReading): boolean {
  return reading.pipelines.some((all) => {
    const elements = all.map((element) => element.filter((command) => command.opened !== true));
    const from = elements.findIndex((element) =>
      element.some(
        (command) => command.name === use.by && (command.argv.includes(use.word) || use.position === command.position),
      ),
    );
    if (from === -1) return false;
    const later = elements.slice(from + 1).flat();
    const carried = later.every((command) => CARRIERS.has(command.name) || isEnd(command));
    const writes = later.some((command) =>
      reading.writes.some((write) => write.by === command.name && write.position >= command.position),
    );
    return carried && (later.some(isEnd) || writes);
  });
}

function isEnd(command: ShellCommand): boolean {
  return NODE_LIKE.has(command.name) || isShell(command.name);
}
