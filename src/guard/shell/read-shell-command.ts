import type { Script, SyntaxNode } from '../../text/shell/parse-shell.ts';
import { forEachChild, MAX_SHELL_TEXT, parseShell } from '../../text/shell/parse-shell.ts';
import { interpret } from './interpret/interpret.ts';
import type { FileAccess, ReadOptions, ShellCommand, ShellReading } from './shell-reading.ts';
import { emptyReading } from './shell-reading.ts';
import { type Facts, NO_INPUT, report, type ShellContext, type ShellState, type States } from './shell-state.ts';
import { isShell, programName, subcommandWords } from './words.ts';

/** Size above which a command is not read at all, whether or not it has heredocs. */
const MAX_SOURCE = 4 * 1024 * 1024;

/** Reads a shell command into facts, without running anything. Never throws, whatever the text. */
export function readShellCommand(source: string, options: ReadOptions): ShellReading {
  const facts = factsOf(source, options);
  const isInDoubt = facts.isTemporary && [...facts.commands, ...facts.opened].some(isOdd);
  const read = isInDoubt ? factsOf(source, { ...options, doubtsTemporary: true }) : facts;
  const calls = read.commands.filter((command) => programName(command) === 'git').map(gitText);
  const restore = calls.find((text) => RESTORES.test(text));
  const texts = [...read.commands, ...read.opened].flatMap(({ argv, assignments }) => [
    ...argv.map(({ template }) => template),
    ...assignments.flatMap(({ name, value }) => [name, value ?? '']),
  ]);
  const isElsewhere = [...read.assigned, ...texts].some((text) => ELSEWHERE.test(text));
  const moves = isElsewhere || calls.some((text) => MOVES.test(text));
  const restoresIgnoreFile =
    texts.some((text) => /core\.excludesfile/i.test(text)) ||
    (restore !== undefined &&
      calls.slice(calls.indexOf(restore)).some((text) => text !== restore && REMOVES.test(text))) ||
    read.writes.some(({ word }) => IGNORE_FILE.test(word.template));
  if (!moves && !restoresIgnoreFile) return read;
  const doubted = (use: FileAccess): FileAccess => {
    const { compared, ...unsure } = use;
    const doubt = moves && use.how === 'git-path' ? unsure : use;
    if (use.word.under === undefined) return doubt;
    // A search may then skip nothing, and git may take any file for tracked or untracked.
    const { ignores, visible, tracked, ...under } = use.word.under;
    const known = isElsewhere || tracked === undefined ? {} : { tracked };
    return restoresIgnoreFile || isElsewhere
      ? { ...doubt, word: { ...use.word, under: { ...under, ...known } } }
      : doubt;
  };
  return { ...read, writes: read.writes.map(doubted), reads: read.reads.map(doubted) };
}

/** Returns a call of git as its subcommand (which an unknown word may be, too) and its arguments. */
function gitText(command: ShellCommand): string {
  return (subcommandWords(command) ?? []).map(({ template }) => template).join(' ');
}

/** Variables and options that may give git another index or repository. */
const ELSEWHERE = /^(?:GIT_(?!PAGER|EDITOR|AUTHOR|COMMITTER|SSH|TERMINAL)|--git-dir)/;
/** Calls that may give git another index or revision before it restores the files of a folder. */
const MOVES =
  /^(?:\0|(?:reset|read-tree|update-index|update-ref|fetch|branch|tag)(?: |$)|(?:restore|rm|apply) (?:.* )?(?:--sta|--ca|-(?!\w*W)\w*S))/s;
/** Calls that may replace .gitignore before calls that remove the files that it does not name. */
const RESTORES = /^(?:\0|(?:checkout|restore|reset|stash|switch|pull|merge|rebase)(?: |$))/;
const REMOVES = /^(?:\0|(?:clean|ls-files|stash)(?: |$))/;
/** Pattern for files that control what a search skips. */
const IGNORE_FILE = /(^|\/)(\.gitignore|\.(rg|fd|ag)?ignore|info\/exclude)$/;

/** Returns whether a command can make mktemp fail, or replace what it creates with a link or another folder. */
function isOdd({ name, argv }: ShellCommand): boolean {
  return ODD.test(name) || (name === 'chmod' && argv.some(({ template }) => /^\/tmp\/*$/.test(template)));
}

const ODD =
  /^(?:ln|link|mount|unshare|chroot|chattr|readonly|declare|typeset|ulimit|prlimit|enable|hash|eval|source|\.)$/;

function factsOf(source: string, options: ReadOptions): Facts {
  const facts: Facts = { ...emptyReading(), seen: new Set(), called: new Set(), steps: 0, element: [] };
  // The shell drops NUL; here it marks unknown text.
  const text = source.replaceAll('\0', '');
  const context: ShellContext = { facts, options, source: text, position: null, depth: 0, via: [], interpret };
  try {
    const least = text.length > MAX_SHELL_TEXT ? text.length - heredocSize(text) : 0;
    if (text.length > MAX_SOURCE || least > MAX_SHELL_TEXT) report(context, 'too-large', text, 0, null);
    else {
      const script = parseShell(text);
      if (text.length > MAX_SHELL_TEXT && sizeThatCounts(script, text) > MAX_SHELL_TEXT)
        report(context, 'too-large', text, 0, null);
      else {
        const { states } = interpret(script, [initialState(options)], NO_INPUT, context);
        readUncalledFunctions(states, context);
      }
    }
  } catch (error) {
    // The parser resolves nested parts on access and can exhaust the stack there.
    report(context, 'too-deep', error instanceof RangeError ? text : `${text}\n${String(error)}`, 0, null);
  }
  return facts;
}

function initialState(options: ReadOptions): ShellState {
  return {
    cwd: options.cwd,
    previous: '\0',
    stack: [],
    variables: new Map(),
    positional: null,
    functions: new Map(),
    files: new Map(),
  };
}

function sizeThatCounts(script: Script, text: string): number {
  let size = text.length;
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Command') {
      const words = [node.name, ...node.suffix].filter((each) => each?.type === 'Word');
      if (words.some((word) => isShell(word.value))) return;
      for (const redirect of node.redirects) {
        const inert =
          redirect.type === 'HereDoc' && (redirect.delimiter?.quoted === true || !/[`]|\$\(/.test(redirect.body.text));
        if (inert) size -= redirect.body.text.length;
      }
    } else if (node.type !== 'Word' && node.type !== 'Assignment') forEachChild(node, visit);
  };
  visit(script);
  return size;
}

/** Reads the bodies of uncalled functions once: they may still run (a trap, a later command of the same shell). */
function readUncalledFunctions(states: States, context: ShellContext): void {
  for (const state of states) {
    for (const body of state.functions.values()) {
      if (body.kind !== 'function' || context.facts.called.has(body.node)) continue;
      context.facts.called.add(body.node);
      interpret(body.node, [{ ...state, positional: null }], NO_INPUT, { ...context, source: body.source });
    }
  }
}

/** Estimates the characters in heredoc bodies, to keep large texts from the parser: 1 MB of `a;` takes it 300 ms. */
function heredocSize(text: string): number {
  let size = 0;
  const opener = /<<-?[ \t]*\\?(['"]?)([^\s'"<>|;&()]+)\1/g;
  for (let match = opener.exec(text); match !== null; match = opener.exec(text)) {
    const start = text.indexOf('\n', opener.lastIndex);
    if (start === -1) break;
    const end = endOfBody(text, start + 1, match[2] ?? '');
    size += end - start;
    opener.lastIndex = end;
  }
  return size;
}

function endOfBody(text: string, start: number, delimiter: string): number {
  for (let at = text.indexOf(delimiter, start); at !== -1; at = text.indexOf(delimiter, at + 1)) {
    const lineStart = text.lastIndexOf('\n', at) + 1;
    const after = text[at + delimiter.length];
    if ((after === undefined || after === '\n') && /^\t*$/.test(text.slice(lineStart, at))) return at;
  }
  return text.length;
}
