import { basename } from 'node:path';
import { controlProgramIn, isControlBinary, isLauncher } from './control-program.ts';
import type { Guard } from './guard.ts';
import { controlDenied } from './messages.ts';
import type { ShellCommand, ShellWord } from './shell/shell-reading.ts';
import { isShell, NODE_LIKE } from './shell/shells.ts';
import { splitOptions } from './shell/split-options.ts';

const NODE_VALUES =
  '-r -C -e -p --require --import --loader --experimental-loader --env-file --eval --print --conditions --input-type --title';
/** Options with which the user agrees to something, of commands that serve agents otherwise. */
const USERS_WORDS = new Set(['--consent', '--accept']);
/** bun run x, deno run x. */
const RUN = /^(run|eval|exec)$/;

/** Does this command run the control program with a subcommand that is not for agents? Gives the message. */
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
