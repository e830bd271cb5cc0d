import { recordRead } from '../file-access/file-access-rule.ts';
import { recordFileAccess } from '../file-access/record-file-access.ts';
import { type ShellCommand, type ShellWord, UNKNOWN, type UndecidableKind } from '../shell-reading.ts';
import type { Call, Outcome, ShellContext } from '../shell-state.ts';
import {
  fileKey,
  inside,
  literalOrNull,
  NO_INPUT,
  reportCall,
  UNKNOWN_STREAM,
  withOddGlobs,
  withVariable,
} from '../shell-state.ts';
import { asValue, byProgram, optionValues, STDIN, splitOptions, takesInput, wordOf } from '../words.ts';

/** Pattern for options that make a glob match more: `bash -O dotglob`. */
export const ODD = /^(dotglob|globstar|extglob|nocaseglob|glob_?(dots|star_?short)|extended_?glob)$|\0/i;

/** Placeholder for files that a search inserts into a text (`xargs -I% sh -c 'rm %'`). */
const FOUND = 'FOUND_BY_A_SEARCH';

/**
 * Reads the options of a shell: what it runs first, whether the first word after them (`rest`) is a script text, and whether it
 * reads its input.
 */
function shellOptions(args: Call['words'], name: string) {
  const starts: ShellWord[] = [];
  let letters = '';
  let at = 0;
  for (; /^[-+]/.test(args[at]?.template ?? ''); at += 1) {
    const text = args[at]?.template ?? '';
    if (text === '-' || text === '--') {
      at += 1;
      break;
    }
    if (/^--?(?:rcfile|init-(?:file|command))$/.test(text) || (text === '-C' && name === 'fish')) {
      at += 1;
      starts.push(...args.slice(at, at + 1));
    } else if (text === '--command') letters += 'c';
    else if (!LONG.test(text)) {
      // bash takes a word for each `o`, wherever the letter is; others take the rest of the word.
      const own = /^(?:zsh|m?ksh)$/.test(name) ? text.replace(/(?<=[oO]).+/, '') : text;
      if (own === text) at += own.replace(/[^oO]/g, '').length;
      letters += own;
    }
  }
  return { takesText: letters.includes('c'), takesStdin: letters.includes('s'), rest: args.slice(at), starts };
}

/** Options that are whole words, which bash also takes with one dash. */
const LONG = /^--|^-(?:login|no(?:editing|profile|rc)|posix|protected|restricted|verbose|version)$/;

/** Interprets the known input of a shell: `bash -c TEXT`, `… | bash`, `bash <<EOF`, `bash FILE`. */
export function openShell(call: Call, name: string, context: ShellContext): Outcome {
  const inner = inside(context, call, name);
  const args = call.words.slice(1);
  const { takesText, takesStdin, rest, starts } = shellOptions(args, name);
  const first = rest[0];
  for (const word of starts)
    context.interpret(contentOf(word, call) ?? (name === 'fish' ? word.template : ''), [call.state], call.stdin, inner);
  if (takesText) {
    recordOpened(call, name, context);
    return runText(first?.template ?? '', rest.slice(2), 'dynamic-command', rest[1]);
  }
  if (first !== undefined && !takesStdin) {
    const content = contentOf(first, call);
    if (STDIN.test(first.template)) return runInput();
    if (content !== undefined) {
      if (first.content === undefined) record();
      else recordOpened(call, name, context);
      return runText(content, rest.slice(1), 'dynamic-piped-to-shell');
    }
    record();
    return { states: [call.state], output: UNKNOWN_STREAM };
  }
  return runInput();

  function runInput(): Outcome {
    if (call.stdin.kind === 'none') {
      record();
      return { states: [call.state], output: UNKNOWN_STREAM };
    }
    if (call.stdin.text.includes(UNKNOWN)) record();
    else recordOpened(call, name, context);
    return runText(call.stdin.text, takesStdin ? rest : [], 'dynamic-piped-to-shell');
  }

  function runText(given: string, positional: Call['words'], kind: UndecidableKind, zeroth?: ShellWord): Outcome {
    const under = takesText ? first?.under : undefined;
    if (given.includes(UNKNOWN)) reportCall(context, given === UNKNOWN ? kind : 'dynamic-piped-to-shell', call);
    const found = under === undefined ? call.state : withVariable(call.state, FOUND, [{ template: UNKNOWN, under }]);
    const text = under === undefined ? given : given.replace(/'?\0'?/g, `"$${FOUND}"`);
    const named = zeroth === undefined ? found : withVariable(found, '0', [asValue(zeroth)]);
    const own = { ...named, positional: positional.map(asValue) };
    const state = args.some(({ template }) => ODD.test(template)) ? withOddGlobs(own) : own;
    const { output } = context.interpret(text, [state], call.stdin, inner);
    return { states: [call.state], output };
  }

  function record(): void {
    recordFileAccess(recordCommand(call, name, context), call, context);
  }
}

/** Returns the known content of a script: a substitution, or text that this command line wrote. */
export function contentOf({ content, template }: ShellWord, { state }: Call): string | undefined {
  const isDescriptor = /^\/(?:dev|proc\/self)\/fd\/\d+$/.test(template);
  return content ?? state.files.get(fileKey(template, state)) ?? (isDescriptor ? UNKNOWN : undefined);
}

const NODE = /^(-e|-p|-pe|--eval|--print)$|^--(?:eval|print)=/;

/** Options that take code, for each interpreter; its name may end in a version: `python3.12`. */
const codeOption = byProgram(() => ({
  'node nodejs bun tsx ts-node': NODE,
  deno: /^(eval|-e|--eval)$/,
  'python pypy': /^-[a-zA-Z]*c$|^-c/,
  perl: /^-[a-zA-Z0-9]*[eE]/,
  'make gmake': /^(-E|--eval\b)/,
  ruby: /^-[a-zA-Z]*e/,
  'lua Rscript osascript julia swift elixir scala groovy tclsh expect guile octave R': /^(-e|-E)$/,
  php: /^-[rBRE]$/,
}));
const AWK = new Set(['awk', 'gawk', 'mawk', 'nawk']);
/** Programs with their own command language, or that run commands later. */
const TOLD = new Set(['ed', 'ex', 'vi', 'vim', 'nvim', 'emacs', 'sqlite3', 'tmux', 'screen', 'at', 'batch']);

/** Reports code for an interpreter, which this parser does not read. */
export function openInterpreter(call: Call, name: string, context: ShellContext): void {
  const args = call.words.slice(1);
  const say = (text: string): void => {
    reportCall(context, 'interpreter-code', call, text);
    for (const command of commandsIn(text, name))
      context.interpret(command, [call.state], NO_INPUT, inside(context, call, name));
  };
  if (AWK.has(name)) {
    const told = args.some((word) => takesInput(word.template)) ? call.stdin.text : '';
    const program = args.find((word) => /[{}]/.test(word.template))?.template ?? told;
    if (/system\s*\(|\||>|getline/.test(program)) say(program);
    return;
  }
  if (name === 'sed' || name === 'gsed') {
    const split = splitOptions(args, '-e -f -l --expression --file --line-length');
    const given = optionValues(split, '-e', '--expression', '-f', '--file');
    const texts = (given.length > 0 ? given : split.operands.slice(0, 1)).map(({ template }) => template);
    for (const text of texts.map((each) => (takesInput(each) ? call.stdin.text : each))) {
      const commands = text.replace(SUBSTITUTIONS, ';');
      for (const [, file = ''] of commands.matchAll(READS))
        recordRead({ word: wordOf(file), state: call.state, by: name }, context, call.position);
      if (RUNS_OR_WRITES.test(commands.replace(/\/(?:\\.|[^/\\])*\//gs, ''))) say(text);
    }
    return;
  }
  const option = codeOption('.0123456789'.includes(name.slice(-1)) ? name.replace(/(?<![\d.])[\d.]+$/, '') : name);
  if (option === undefined) {
    const told = TOLD.has(name) || (name === 'crontab' && args.some(({ template }) => takesInput(template)));
    if (told) say([...args.map((word) => word.template), call.stdin.text].join('\n'));
    return;
  }
  const at = args.findIndex((word) => option.test(word.template));
  const operand = args.find((word) => !word.template.startsWith('-'));
  const readsItsCode = operand === undefined && !name.endsWith('make');
  if (at !== -1) {
    // `perl -pe CODE FILE` filters the file; other code can do anything with its arguments.
    const flags = args.filter((word) => /^-[a-zA-Z0-9]+$/.test(word.template)).map((word) => word.template);
    const filters =
      /^(perl|ruby)/.test(name) && flags.some((flag) => /[np]/.test(flag)) && !flags.some((flag) => /i/.test(flag));
    say((filters ? args.slice(0, at + 2) : args).map((word) => word.template).join('\n'));
  } else if ((readsItsCode || args.some((word) => takesInput(word.template))) && call.stdin.kind !== 'none')
    say(call.stdin.text);
  else if (operand?.content !== undefined) say(operand.content);
  else if (operand !== undefined) {
    const written = call.state.files.get(fileKey(operand.template, call.state));
    if (written !== undefined) say(written);
  }
}

/** Pattern for `system('x')`, `execSync("x")`, `subprocess.run(['x', 'y'])`, `spawn('x', ['y'])`. */
const RUNS =
  /(?:(?:\b(?:system|popen\d?|exec(?:File)?Sync|execFile|exec[lv]\w{0,2}\([^,()\n]{1,100},|spawn(?:Sync)?|check_(?:call|output)|getoutput|shell_exec|passthru|do shell script|subprocess\.(?:run|call))|(?:(?<![\w.])|\)\.|(?:cp|child_process)\.)(?:exec|sh|bash|run))[\s(]{1,4}|(?<!\w)\$(?=`))((?:\[?\s{0,9}(['"`])[^'"`\n()]{1,500}\2[\s,]{0,9}){1,20})/g;
/** Patterns for commands in interpreters' own languages. */
const ITS_RUNS: ReadonlyArray<readonly [name: RegExp, run: RegExp]> = [
  // A notebook's cell: `!x`, `%sx x`, `%%bash` and what follows.
  [
    /^$/,
    /^\s*(?:\w+\s*=\s*)?(?:!\s*(?!function\b)(?=[\w./~-]+(?:\s|$))|%(?:sx|system) |%%(?:bash|sh|script \w+)[^\n]*\n)(.+)/gm,
  ],
  [/^g?make$/, /^(?:\t|[^\t#=:;]*:[^=;]*;)[\s@+-]*(.+)$|\$\(shell ([^)\n]+)\)/gm],
  [/^sqlite3?$/, /^\s*\.(?:shell|system)\s+(.+)$/gm],
  [/^(?:n?vim?|ex|ed)$/, /^[:%\d,$]*!\s*(.+)$/gm],
  [/^g?sed$/, /(?:^|[;{}\n])[\s\d,$!~+]*e\s+(.+)$/gm],
  [/^(?:perl|ruby|php)/, /`([^`\n]+)`|%x\W([^\n)\]}>|!]+)/g],
];

/** Returns the commands that code obviously runs, at most 20; composed ones are unknown. */
export function commandsIn(text: string, name: string): string[] {
  const lists = [...text.matchAll(RUNS)].map(([, list = '']) => list.replace(/(['"`])(.+?)\1[\s,[]*|\[/g, '$2 '));
  const run = ITS_RUNS.find(([each]) => each.test(name))?.[1];
  const own = run === undefined ? [] : [...text.matchAll(run)].map(([, command, inner = '']) => command ?? inner);
  return [...own, ...lists].filter((command) => !command.includes(UNKNOWN)).slice(0, 20);
}

/** GNU sed writes files by `w FILE` and runs commands by `e`, as commands and as flags of `s`; it reads files by `r FILE`. */
const RUNS_OR_WRITES = /(?:^|[;{}\n])[\s\d,$!~+]*(?:[gpimMI\d]*[wWe](?![a-z])|w\w)/;
const READS = /(?:^|[;{}\n])(?:\/(?:\\.|[^/\\])*\/|[\s\d,$!~+IM])*[rR]\s*([^\s;}]+)/g;
const SUBSTITUTIONS = /(?<![a-zA-Z])[sy]([^\w\s\\])(?:\\.|(?!\1)[^\\])*\1(?:\\.|(?!\1)[^\\])*\1/gs;

/** Adds a simple command to the reading, once for each way in which it may run. */
export function recordCommand(call: Call, name: string, context: ShellContext): ShellCommand {
  return record(commandOf(call, name, context), 'commands', context);
}

export function recordOpened(call: Call, name: string, context: ShellContext): ShellCommand {
  return record({ ...commandOf(call, name, context), opened: true }, 'opened', context);
}

function commandOf(call: Call, name: string, context: ShellContext): ShellCommand {
  const { words, state, assignments } = call;
  return {
    name,
    path: words[0]?.template ?? '',
    argv: words,
    via: context.via,
    assignments: assignments.map((each) => ({
      name: each.name,
      value: literalOrNull(each.words.map((word) => word.template).join(' ')),
    })),
    cwdTemplate: state.cwd,
    source: call.source,
    position: context.position ?? call.position,
    ...(context.away === true || context.facts.away === true ? { away: true as const } : {}),
  };
}

function record(command: ShellCommand, list: 'commands' | 'opened', { facts }: ShellContext): ShellCommand {
  facts.element.push(command);
  const { argv, position, via, cwdTemplate, assignments } = command;
  const shown = argv.map((word) => word.pattern ?? word.template);
  const key = JSON.stringify([list, position, via, cwdTemplate, shown, assignments]);
  if (!facts.seen.has(key)) facts[list].push(command);
  facts.seen.add(key);
  return command;
}
