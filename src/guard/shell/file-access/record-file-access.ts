import { basenameOf, commandsOfOptions, takesInput } from '../program-words.ts';
import { type ShellCommand, UNKNOWN } from '../shell-reading.ts';
import { type Call, fromCwd, type ShellContext, type ShellState } from '../shell-state.ts';
import { byProgram, wordOf } from '../words.ts';
import { ARCHIVERS, COPIERS, FETCHERS } from './copiers.ts';
import { type AccessRecorder, type FileAccessRule, recordRead, recordWrite } from './file-access-rule.ts';
import { git } from './git.ts';
import { ELSEWHERE, mayWrite, wrappedWriter } from './possible-write.ts';
import { filesOf, PROGRAMS, ROWS } from './programs.ts';
import { searchFiles } from './search-files.ts';

const rowOf = byProgram(ROWS);
const ruleByName = byProgram<FileAccessRule>(PROGRAMS, searchFiles, COPIERS, FETCHERS, ARCHIVERS, { git });

/** Records the paths that a command reads and writes through its arguments, and the words that no rule explains. */
export function recordFileAccess(command: ShellCommand, call: Call, context: ShellContext): void {
  const explained = new Set<string>();
  const access = recorderIn(call.state, command, call, context, explained);
  const rule = ruleOf(command.name);
  rule?.(access);
  const isTrusted =
    isOfSystem(command.path) &&
    !['PATH', 'LD_PRELOAD'].some((each) => call.state.variables.has(each)) &&
    commandsOfOptions(command.name, call.words).length === 0;
  const wrapped = rule === undefined ? wrappedWriter(command) : null;
  if (wrapped !== null) {
    const name = basenameOf(wrapped[0]?.template ?? '');
    ruleOf(name)?.(recorderIn(call.state, { ...command, name }, { ...call, words: wrapped }, context, new Set()));
  }
  const unread = access.args.filter(({ source }) => !explained.has(source));
  const inputs = unread.map(({ content = '' }) => content);
  if (unread.some(({ template }) => takesInput(template)) || (rule === undefined && !FOR_READERS.test(call.stdin.text)))
    inputs.push(call.stdin.text);
  const words = [
    ...access.args.filter(({ source, template }) => !isTrusted || !explained.has(source) || LONG_OPTION.test(template)),
    ...call.assignments.flatMap(({ words: values }) => values.map(({ template }) => wordOf(template))),
    ...inputs.filter((text) => text !== '' && !text.includes(UNKNOWN)).map((text) => wordOf(text, '<')),
  ];
  recordNamed(command, words, context);
}

/** Pattern for input that people, models or servers read: a question, a sentence, a fenced block, JSON. */
const FOR_READERS = /(?<![\s\S])\s{0,9}\{\s{0,9}"|^(?:[A-Z].*[.:?!]|.*\?|```.*)$/m;

/** Returns whether a program is found by its name or in the system's folders: not `./cat`. */
export function isOfSystem(path: string): boolean {
  return path.includes('/') ? /^\/(s?bin|usr|opt|nix|snap)\//.test(path) : path !== '';
}

/** Pattern for long options with one dash, such as `-coverprofile=FILE`, whatever the rule. */
const LONG_OPTION = /^-[a-zA-Z][\w,-]+=/;

/** Records words that a program may write to because it or its option is unknown. */
export function recordNamed(command: ShellCommand, words: Call['words'], { facts }: ShellContext): void {
  if (words.length > 0) facts.named.push({ command, words, mayWrite: mayWrite(command) });
}

const GNU_TOOLS = new Set([
  ...['sed', 'cp', 'mv', 'rm', 'ln', 'tar', 'dd', 'awk', 'tee', 'touch', 'truncate', 'install', 'shred'],
]);

/** Returns whether nothing is known about what a program does here with its words. */
export function isUnknown(name: string): boolean {
  return ruleOf(name) === undefined && !ELSEWHERE.test(name);
}

function ruleOf(name: string): FileAccessRule | undefined {
  // GNU tools on a Mac: gsed, gcp, grm.
  const plain = name.startsWith('g') && GNU_TOOLS.has(name.slice(1)) ? name.slice(1) : name;
  const row = rowOf(plain);
  return row === undefined ? ruleByName(plain) : filesOf(row);
}

function recorderIn(
  state: ShellState,
  command: ShellCommand,
  call: Call,
  context: ShellContext,
  explained: Set<string>,
): AccessRecorder {
  const by = command.name;
  return {
    args: call.words.slice(1),
    words: call.words,
    stdin: call.stdin,
    state,
    explain: ({ source }) => explained.add(source),
    write: (word, how, extra) => {
      explained.add(word.source);
      recordWrite({ word, state, by, how, ...extra }, context, call.position);
    },
    read: (word, recursive, unsure) => {
      if (unsure !== true) explained.add(word.source);
      recordRead({ word, state, by, recursive }, context, call.position);
    },
    inDirectory: (directory) => {
      return recorderIn({ ...state, cwd: fromCwd(directory, state) }, command, call, context, explained);
    },
  };
}
