import { shellWord } from '../../../text/quote.ts';
import { commandLines } from '../../client-tools.ts';
import { isOfSystem, isUnknown, recordFileAccess, recordNamed } from '../file-access/record-file-access.ts';
import { type FileAccess, type ShellWord, UNKNOWN } from '../shell-reading.ts';
import type { Call, Opened, Outcome, ShellContext, ShellState } from '../shell-state.ts';
import {
  fileKey,
  inside,
  NO_INPUT,
  report,
  reportCall,
  SILENT,
  spend,
  UNKNOWN_STREAM,
  withVariable,
} from '../shell-state.ts';
import { unwrap } from '../unwrap/unwrap.ts';
import {
  asValue,
  basenameOf,
  commandsOfOptions,
  gitWords,
  isShell,
  optionValues,
  STDIN,
  splitOptions,
  wordOf,
} from '../words.ts';
import { openInterpreter, openShell, recordCommand, recordOpened } from './open-shell.ts';
import { literalOutput, runBuiltin } from './run-builtin.ts';

/** Maximum number of nested wrappers such as `sudo env nice …`: more than a person writes. */
const MAX_WRAPPERS = 20;

/** Follows a command through functions, builtins, wrappers and shells to the program that it runs, and records it. */
export function openCommand(call: Call, context: ShellContext): Outcome {
  const first = call.words[0];
  if (first === undefined) return { states: [call.state], output: SILENT };
  if (context.via.length > MAX_WRAPPERS) report(context, 'too-deep', call.source, call.position, null);
  if (context.via.length > MAX_WRAPPERS || !spend(context, call.position))
    return { states: [call.state], output: UNKNOWN_STREAM };
  const name = basenameOf(first.template);
  if (name.includes(UNKNOWN) || name === '' || (first.glob === true && name !== '[')) {
    reportCall(context, 'dynamic-command', call);
    recordCommand(call, '', context);
    return { states: [call.state], output: UNKNOWN_STREAM };
  }
  runLater(call, name, context);
  return (
    callFunction(call, context) ??
    runBuiltin(call, name, context) ??
    openWrapped(call, name, context) ??
    (isShell(name) ? openShell(call, name, context) : undefined) ??
    openWrittenScript(call, context) ??
    runPlain(call, name, context)
  );
}

function runPlain(call: Call, name: string, context: ShellContext): Outcome {
  openInterpreter(call, name, context);
  const programs = call.assignments.filter((each) => PROGRAM_VARIABLES.test(each.name));
  const texts = programs.map((each) => programText(each.name, each.words[0]?.template ?? ''));
  if (name === 'git') texts.push(...gitTexts(call));
  // An unknown program may run the lines of its input.
  if (isUnknown(name) && call.stdin.kind !== 'none') texts.push(commandLines(call.stdin.text));
  for (const text of [...texts, ...commandsOfOptions(name, call.words)])
    context.interpret(text, [call.state], name === 'man' ? UNKNOWN_STREAM : call.stdin, inside(context, call, name));
  const command = recordCommand(call, name, context);
  const before = context.facts.writes.length;
  recordFileAccess(command, call, context);
  openShellBehind(call, name, context);
  const state = withWrittenFiles(call, name, context.facts.writes.slice(before));
  return { states: [state], output: literalOutput(call, name) };
}

/** `anything sh -c TEXT`, `curl x | anything bash`: an unknown program runs the shell that it is given. */
function openShellBehind(call: Call, name: string, context: ShellContext): void {
  const at = isUnknown(name) ? call.words.findIndex(({ template }, index) => index > 0 && isShell(template)) : -1;
  const [before, shell, next] = call.words.slice(Math.max(at - 1, 0));
  // `--shell bash` only names one.
  const takesInput = call.stdin.kind !== 'none' && !/^--\w*shell$/.test(before?.template ?? '');
  const isRun = next === undefined ? takesInput : /^-[a-zA-Z]*[cs]/.test(next.template);
  if (at > 0 && shell !== undefined && isRun)
    openShell({ ...call, words: call.words.slice(at) }, basenameOf(shell.template), inside(context, call, name));
}

function openWrapped(call: Call, name: string, context: ShellContext): Outcome | undefined {
  const opened = unwrap(call, name);
  if (opened === undefined) return undefined;
  const inner = { ...context, via: [...context.via, name], depth: context.depth + 1 };
  // Files that a wrapper itself reads or writes (find -delete, xargs -a, flock FILE) are recorded with the wrapper.
  if (opened.keepsItself) recordFileAccess(recordCommand(call, name, context), call, context);
  else recordNamed(recordOpened(call, name, context), ownWords(call, opened.next), context);
  let outcome: Outcome = { states: [call.state], output: UNKNOWN_STREAM };
  for (const next of opened.next) {
    outcome =
      next.kind === 'call'
        ? openCommand(next.call, inner)
        : context.interpret(next.text, [call.state], call.stdin, inside(inner, call));
    if (next.kind === 'text' && next.text.includes(UNKNOWN)) reportCall(context, 'dynamic-command', call);
  }
  // `builtin cd x`: only these two stay in the shell.
  const isHere = name === 'builtin' || name === 'command';
  const { states, failed = [] } = isHere ? outcome : { states: [call.state] };
  return { states, failed, output: opened.next.length === 1 ? outcome.output : UNKNOWN_STREAM };
}

/** Returns the words of a wrapper that do not belong to the command it runs. */
function ownWords(call: Call, next: readonly Opened[]): ShellWord[] {
  const inner = new Set(next.flatMap((each) => (each.kind === 'call' ? each.call.words : [])));
  const texts = next.flatMap((each) => (each.kind === 'text' ? [each.text] : []));
  return call.words.slice(1).filter((word) => !inner.has(word) && !texts.some((text) => text.includes(word.template)));
}

function callFunction(call: Call, context: ShellContext): Outcome | undefined {
  const body = call.state.functions.get(call.words[0]?.template ?? '');
  if (body === undefined || context.depth > 20) return undefined;
  const positional = call.words.slice(1).map(asValue);
  const inner = { ...context, depth: context.depth + 1 };
  const functions = new Map(call.state.functions);
  if (body.kind === 'alias') functions.delete(call.words[0]?.template ?? '');
  else context.facts.called.add(body.node);
  const state = { ...call.state, positional, functions };
  const outcome =
    body.kind === 'alias'
      ? context.interpret(`${body.text} "$@"`, [state], call.stdin, inside(inner, call))
      : context.interpret(body.node, [state], call.stdin, { ...inner, source: body.source });
  return {
    ...outcome,
    states: outcome.states.map((each) => ({
      ...each,
      positional: call.state.positional,
      // Definitions in the body survive the call.
      functions: new Map([...call.state.functions, ...each.functions]),
    })),
  };
}

/** Opens `./x.sh` if this very command wrote it with known content. */
function openWrittenScript(call: Call, context: ShellContext): Outcome | undefined {
  const path = call.words[0]?.template ?? '';
  if (!path.includes('/')) return undefined;
  const content = call.state.files.get(fileKey(path, call.state));
  if (content === undefined || /^#!(?!.*sh\b)/.test(content)) return undefined;
  recordCommand(call, basenameOf(path), context);
  return openShell({ ...call, words: [wordOf('sh'), ...call.words] }, 'sh', context);
}

/** Keeps the content of files that a command writes and may run later in the same line; a download's is unknown. */
function withWrittenFiles(call: Call, name: string, writes: readonly FileAccess[]): ShellState {
  const { state } = call;
  const copied = /^(?:cp|mv|ln|install)$/.test(name) ? copiedText(call) : undefined;
  if (copied === undefined && !/^(?:curl|wget|tee)$/.test(name)) return state;
  const content = copied ?? (name === 'tee' && call.stdin.kind !== 'none' ? call.stdin.text : UNKNOWN);
  const files = new Map(state.files);
  for (const { word } of writes) if (word.text !== null) files.set(fileKey(word.text, state), content);
  return { ...state, files };
}

/** Text of the copied script, or of a script that runs the copied program: `ln -s $(command -v git) g; ./g push`. */
function copiedText({ words, state }: Call): string | undefined {
  const { template = '', source = '' } = words.at(-2) ?? {};
  const isProgram = template.includes('/') ? isOfSystem(template) : template !== source;
  const runs = isProgram && !template.includes(UNKNOWN) ? `'${template}' "$@"` : undefined;
  return state.files.get(fileKey(template, state)) ?? runs;
}

const PROGRAM_KEYS =
  /^(core\.(pager|editor|fsmonitor|sshcommand|askpass|alternaterefscommand|gitproxy)|sequence\.editor|diff\.external|interactive\.difffilter|credential(\..*)?\.helper|gpg(\..*)?\.program|pager\..*|(diff|merge)tool\..*\.cmd|merge\..*\.driver|diff\..*\.(command|textconv)|filter\..*\.(clean|smudge|process)|man\..*\.cmd|browser\..*\.cmd|trailer\..*\.(command|cmd)|uploadpack\.packobjectshook|sendemail\..*cmd)$/;
const PROGRAM_VARIABLES =
  /^(GIT_(PAGER|EDITOR|SEQUENCE_EDITOR|SSH_COMMAND|SSH|EXTERNAL_DIFF|ASKPASS|PROXY_COMMAND)|PAGER|EDITOR|VISUAL)$/;

/** Returns the command that a setting or a variable names. A pager's input is not the terminal. */
function programText(key: string, value: string): string {
  return value.replace(/^!/, '') + (/pager/i.test(key) ? ' < /dev/null' : '');
}

/** Returns one word as a text for a shell; several as a command with quoted words. */
function oneText(words: readonly string[]): string {
  const [first = ''] = words;
  return words.length === 1 ? first : words.map(shellWord).join(' ');
}

/** Returns the commands that git itself runs: aliases, programs in settings and variables, `rebase -x`. */
function gitTexts(call: Call): string[] {
  const { words, aliased, settings } = gitWords(call.words, call.state.variables);
  const told = [...settings].flatMap(([key, value]) => (PROGRAM_KEYS.test(key) ? programText(key, value) : []));
  if (aliased?.startsWith('!')) return [...told, aliased.slice(1)];
  // An alias from the environment is not among the command's words: its expansion is interpreted.
  const meant = aliased === undefined ? [] : [oneText(['git', ...words.map((word) => word.template)])];
  return [...told, ...meant, ...subcommandTexts(words)];
}

function subcommandTexts([subcommand, ...args]: readonly ShellWord[]): string[] {
  const texts = args.map((word) => word.template);
  switch (subcommand?.template) {
    case 'rebase':
      return optionValues(splitOptions(args, '-x --exec'), '-x', '--exec').map(({ template }) => template);
    case 'filter-branch':
      return texts.flatMap((text, index) => (/^--[a-z-]+-filter$/.test(texts[index - 1] ?? '') ? [text] : []));
    case 'submodule':
      return texts[0] === 'foreach'
        ? [oneText(texts.slice(1).filter((text) => !/^--(recursive|quiet)$/.test(text)))]
        : [];
    case 'bisect':
      return texts[0] === 'run' ? [oneText(texts.slice(1))] : [];
    case 'difftool':
      return optionValues(splitOptions(args, '-x --extcmd -t --tool'), '-x', '--extcmd').map((word) => word.template);
    case 'grep':
      return texts.flatMap((text) => /^(?:-O|--open-files-in-pager=)(.+)$/s.exec(text)?.[1] ?? []);
    case 'config':
      return texts.flatMap((text, index) => {
        const value = texts[index + 1];
        if (value === undefined) return [];
        // An alias is evaluated where it is defined, because a later use may go unnoticed.
        if (/^alias\.[^=]+$/i.test(text)) return [value.startsWith('!') ? value.slice(1) : `git ${value}`];
        return PROGRAM_KEYS.test(text.toLowerCase()) ? programText(text, value) : [];
      });
    default:
      return [];
  }
}

/** Variables that a shell itself runs, expands or reads as a file: at its start, for a prompt, for a trace. */
const BY_ITSELF = ['PROMPT_COMMAND', 'BASH_ENV', 'ENV', 'PS0', 'PS1', 'PS2', 'PS4'];
/** Builtins that evaluate the subscript of a name: `let 'a[$(x)]=1'`. */
const EVALUATES = new Set('let declare typeset local export readonly read printf unset test [ mapfile wait'.split(' '));

/** Follows code that a shell runs implicitly with this command: texts in variables and in subscripts. */
function runLater(call: Call, name: string, context: ShellContext): void {
  const { variables, files } = call.state;
  const subscripts = EVALUATES.has(name) ? call.words.filter(({ template }) => template.includes('[')) : [];
  const set = BY_ITSELF.filter((variable) => variables.has(variable));
  const texts = set.flatMap((variable) => {
    const text = variables.get(variable)?.[0]?.template ?? '';
    if (text.includes(UNKNOWN) && /_/.test(variable)) reportCall(context, 'dynamic-piped-to-shell', call);
    if (variable === 'PROMPT_COMMAND') return text;
    return (STDIN.test(text) ? call.stdin.text : files.get(fileKey(text, call.state))) ?? expansionOf(text);
  });
  const state = set.reduce((each, variable) => withVariable(each, variable, undefined), call.state);
  for (const text of [...texts, ...subscripts.flatMap(({ template }) => expansionOf(template))])
    context.interpret(text, [state], NO_INPUT, inside(context, call, name));
}

/** Returns a command that only expands the substitutions of a text. */
function expansionOf(text: string): string[] {
  return /\$\(|`/.test(text) ? [`: <<E\n${text}\nE`] : [];
}
