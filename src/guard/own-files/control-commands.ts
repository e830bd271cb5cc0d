import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { comparablePath } from '../comparable-path.ts';
import { type Guard, isDistinctive } from '../guard.ts';
import { controlDenied } from '../messages.ts';
import { mayWrite } from '../shell/file-access/record-file-access.ts';
import { escapeGlob, matchesGlob } from '../shell/glob.ts';
import type { FileAccess, ShellCommand, ShellReading, ShellWord } from '../shell/shell-reading.ts';
import { isUnknownPath, UNKNOWN } from '../shell/shell-reading.ts';
import { isShell, NODE_LIKE, NODE_VALUES, splitOptions, wordOf } from '../shell/words.ts';
import { piecesOf, searchFinds } from './file-access-hit.ts';
import { absolutePath, formsOf, isBelowProject } from './own-files.ts';

/** Options by which the user consents, in commands that agents may otherwise run. */
const USERS_WORDS = new Set(['--consent', '--accept']);
/** Matches bun run x, deno run x. */
const RUN = /^(run|eval|exec)$/;

/** Returns the denial message if this command runs the control program with a subcommand that agents may not use. */
export function controlCommandDenial(command: ShellCommand, guard: Guard): string | undefined {
  const invocation = invocationOf(command, guard);
  if (invocation === undefined) return undefined;
  const { program, args } = invocation;
  const deny = (what: string): string => controlDenied(what, guard.rules.agentCommands);
  const [subcommand] = args;
  // A launcher has no subcommands: running it starts a loop.
  if (program !== BINARY && !/\.[cm]?js$/.test(program))
    return subcommand?.text === '--help' ? undefined : deny(`${program} starts a loop`);
  if (subcommand === undefined) return undefined;
  if (subcommand.text === null || subcommand.glob === true) return deny('the subcommand is known only at run time');
  if (guard.rules.agentCommands.includes(subcommand.text)) {
    const word = args.find(({ text }) => text !== null && USERS_WORDS.has(text));
    return word === undefined ? undefined : deny(`${subcommand.text} ${word.text} is reserved for the user`);
  }
  return deny(`"${subcommand.text}" is not a command for agents`);
}

/** Returns whether this command runs the control program, directly or through a wrapper, with a command for agents. */
export function runsControl(command: ShellCommand, guard: Guard): boolean {
  if (invocationOf(command, guard) !== undefined) return true;
  const { argv, cwdTemplate } = command;
  return argv.some((word, index) => {
    const before = basename(argv[index - 1]?.template ?? '');
    const [next, ...rest] = argv.slice(index + 1);
    if (!(NODE_LIKE.has(before) || isShell(before)) || !guard.rules.agentCommands.includes(next?.text ?? ''))
      return false;
    return (
      controlProgramIn(word, cwdTemplate, guard) !== undefined &&
      !rest.some(({ template }) => USERS_WORDS.has(template))
    );
  });
}

function invocationOf({ name, argv, cwdTemplate }: ShellCommand, guard: Guard) {
  const [first, ...rest] = argv;
  if (first === undefined) return undefined;
  if (name.includes('ralph') && /^(claude-)?ralph-loop(@[\w.-]+)?$/.test(name)) return { program: BINARY, args: rest };
  const runs = ([script, ...args]: readonly ShellWord[]) => {
    const program = script && controlProgramIn(script, cwdTemplate, guard);
    return program === undefined ? undefined : { program, args };
  };
  const itself = runs(argv);
  if (itself !== undefined) return itself;
  if (isShell(name) || name === 'source' || name === '.') {
    // `bash -n` only checks the syntax.
    if (rest.some((word) => /^-[a-z]*n[a-z]*$/.test(word.template))) return undefined;
    const at = rest.findIndex((word) => !word.template.startsWith('-'));
    return at === -1 ? undefined : runs(rest.slice(at));
  }
  if (!NODE_LIKE.has(name)) return undefined;
  const { operands } = splitOptions(rest, NODE_VALUES, true);
  const isRun = name !== 'node' && RUN.test(operands[0]?.template ?? '');
  return runs(isRun ? splitOptions(operands.slice(1), NODE_VALUES, true).operands : operands);
}

/** Programs that only print what they read. Any other program counts as copying it. */
const PRINTS = new Set(
  '< cat tac head tail less more most bat batcat nl rev pr fold fmt cut paste sort uniq grep egrep fgrep zgrep ggrep rg ag ack sed gsed awk gawk mawk tr strings od xxd hexdump hd base64 jq diff colordiff sdiff cmp comm column expand unexpand git'.split(
    ' ',
  ),
);
/** Pattern for programs that report on a file without printing its text. */
const SUMMARIES = /^(wc|file|cmp|cksum|sum|b2sum|md5sum|shasum|sha\d+sum|xargs)$/;
const COUNTS = /^(-[a-zA-Z]*[clLq][a-zA-Z]*|--count|--files-with(out)?-match(es)?|--quiet)$/;

/** Returns a denial if the control program's text goes anywhere but to the terminal: a copy would obey no guard. */
export function controlCopyDenial(reading: ShellReading, guard: Guard): string | undefined {
  for (const { command, words } of reading.named) {
    const pieces = words.flatMap(({ template }) => piecesOf(template, guard)).map((piece) => wordOf(piece));
    const word = pieces.find((piece) => controlProgramIn(piece, command.cwdTemplate, guard) !== undefined);
    if (word !== undefined && !runsControl(command, guard))
      return controlDenied(`${command.name} would receive ${word.template}`, guard.rules.agentCommands);
  }
  const uses = [
    ...reading.reads,
    ...reading.writes.filter((write) => write.how === 'link-source' || write.how === 'move'),
  ];
  for (const use of uses) {
    const program = programIn(use, guard);
    if (program === undefined || SUMMARIES.test(use.by)) continue;
    const deny = (what: string): string => controlDenied(`${what} ${program}`, guard.rules.agentCommands);
    const command = reading.commands.find(({ name, argv, position, source }) => {
      const isWithin = use.position >= position && use.position <= position + source.length;
      return name === use.by && (argv.includes(use.word) || isWithin);
    });
    const isScript = (NODE_LIKE.has(use.by) || isShell(use.by)) && command?.argv.includes(use.word) === true;
    // Its script is evaluated as an invocation.
    if (isScript || use.by === 'source' || use.by === '.') continue;
    // git archives what it reads recursively.
    if (!PRINTS.has(use.by) || (use.by === 'git' && use.recursive)) return deny(`${use.by} would copy or run`);
    if (/grep|^rg$/.test(use.by) && command?.argv.some(({ template }) => COUNTS.test(template)) === true) continue;
    const writes = reading.writes.some(({ by, position }) => by === use.by && position === use.position);
    if (command === undefined || command.away === true || writes || command.argv.some(mayWrite(command)))
      return deny(`${use.by} would copy`);
    if (isPipedAway(command, reading) || runsCode(command, reading)) return deny(`${use.by} would pass on`);
  }
  return undefined;
}

/** Returns whether a program runs code, by which sed and awk can write. */
function runsCode({ argv }: ShellCommand, { undecidable }: ShellReading): boolean {
  return undecidable.some(
    ({ kind, text }) => kind === 'interpreter-code' && argv.some((word) => word.template === text),
  );
}

/** Returns whether a later program of the pipeline does more than print. */
function isPipedAway(command: ShellCommand, reading: ShellReading): boolean {
  return reading.pipelines.some((elements) => {
    const from = elements.findIndex((element) => element.includes(command));
    const later = from === -1 ? [] : elements.slice(from + 1).flat();
    return later.some(
      (each) =>
        each.away === true ||
        !(PRINTS.has(each.name) || SUMMARIES.test(each.name)) ||
        reading.writes.some((write) => write.by === each.name && write.position >= each.position),
    );
  });
}

/** Returns the program itself, or a directory that contains it and is smaller than the whole project. */
function programIn(use: FileAccess, guard: Guard): string | undefined {
  const { word, cwdTemplate } = use;
  // A search of the whole project only finds it incidentally.
  const roots = word.under?.roots.filter((root) => isBelowProject(root, '/', guard));
  if (roots?.length === 0) return undefined;
  const direct = controlProgramIn(word, cwdTemplate, guard);
  if (direct !== undefined) return direct;
  const path = word.text;
  const prints = PRINTS.has(use.by) && use.recursive !== true;
  if (path === null || prints || isUnknownPath(word, cwdTemplate)) return undefined;
  if (!isBelowProject(path, cwdTemplate, guard)) return undefined;
  const forms = formsOf(path, cwdTemplate, guard);
  return guard.control.find((program) => forms.some((form) => program.startsWith(`${form}/`)));
}

const BINARY = 'ralph-loop';

/** Returns the path of the control program's copy or launcher that a word names. */
function controlProgramIn(word: ShellWord, cwdTemplate: string, guard: Guard): string | undefined {
  const { template, under } = word;
  if (under !== undefined) return guard.control.find((program) => searchFinds(under, program, guard));
  if (template === '' || (!template.includes('.') && !template.includes('/') && !template.includes(UNKNOWN)))
    return undefined;
  if (word.pattern !== undefined || isUnknownPath(word, cwdTemplate)) {
    const glob = word.pattern ?? escapeGlob(template);
    return controlProgramLike(isAbsolute(glob) || glob.startsWith(UNKNOWN) ? glob : `${cwdTemplate}/${glob}`, guard);
  }
  const path = absolutePath(template, cwdTemplate);
  const forms = formsOf(template, cwdTemplate, guard);
  // A copy of the whole project elsewhere has a path with the same end.
  const known = guard.control.find((program) =>
    forms.some((form) => form === program || form.endsWith(`/${distinctiveTail(program)}`)),
  );
  const real = forms.at(-1) ?? path;
  // The control program of another bundle: one of our hooks is next to its folder.
  const isBundled =
    /\/scripts\/(ralph-)?main\.cjs$/.test(real) &&
    existsSync(join(dirname(real), '..', 'hooks', 'ralph-stop-hook.cjs'));
  return known ?? (isBundled ? real : copiedProgram(path, guard));
}

/** Returns a copy under any name. Compares the size first, so that hardly any file is read. */
function copiedProgram(path: string, { control }: Guard): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isFile() || stat.size === 0) return undefined;
  return control.find((program) => {
    const own = statSync(program, { throwIfNoEntry: false });
    return own?.isFile() === true && own.size === stat.size && readFileSync(program).equals(readFileSync(path));
  });
}

/** Returns the control program that a text names; the text is code, or a command that does not parse. */
export function mentionsControl(text: string, cwd: string | null, guard: Guard): string | undefined {
  const folded = text.toLowerCase();
  return guard.control.find((program) => {
    const name = basename(program).toLowerCase();
    if (!folded.includes(name)) return false;
    const inside =
      cwd !== null && comparablePath(cwd, guard.rules.caseInsensitive) === program.slice(0, -name.length - 1);
    const tail = program.split('/').slice(-2).join('/').toLowerCase();
    return isDistinctive(name) || inside || folded.includes(tail) || folded.includes('ralph');
  });
}

function controlProgramLike(glob: string, guard: Guard): string | undefined {
  const last = glob.slice(glob.lastIndexOf('/') + 1);
  // A completely unknown name could be anything; it is recorded elsewhere.
  if (!/[^\0*?.]/.test(last) && !glob.includes('ralph')) return undefined;
  return guard.control.find((program) => {
    if (!matchesGlob(glob, program, guard.rules.caseInsensitive)) return false;
    return isDistinctive(last) || glob.includes('ralph') || !last.includes(UNKNOWN);
  });
}

/** Returns the shortest end of a path, of at most four segments, that contains "ralph"; else the whole path. */
function distinctiveTail(program: string): string {
  const segments = program.split('/');
  for (let count = 1; count <= Math.min(4, segments.length); count += 1) {
    const tail = segments.slice(-count);
    if (tail.some((segment) => /ralph/i.test(segment))) return tail.join('/');
  }
  return program.replace(/^\//, '');
}
