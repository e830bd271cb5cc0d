import type { ShellCommand } from '../shell-reading.ts';
import type { Call, ShellContext, ShellState } from '../shell-state.ts';
import { wordOf } from '../words.ts';
import { ARCHIVERS, COPIERS, FETCHERS } from './copiers.ts';
import { EDITORS, PATCHERS } from './editors.ts';
import type { AccessRecorder, FileAccessRule } from './file-access-rule.ts';
import { recordRead, recordWrite } from './file-access-rule.ts';
import { git } from './git.ts';
import { READERS, SEARCHERS } from './readers.ts';
import { DELETERS, WRITERS, writeNamedFiles } from './writers.ts';

const TABLES: ReadonlyArray<Readonly<Record<string, FileAccessRule>>> = [
  COPIERS,
  DELETERS,
  EDITORS,
  WRITERS,
  FETCHERS,
  ARCHIVERS,
  PATCHERS,
  READERS,
  SEARCHERS,
];

/** Records the paths that a command reads and writes by its arguments. */
export function recordFileAccess(command: ShellCommand, call: Call, context: ShellContext): void {
  const access = recorderIn(call.state, command, call, context);
  ruleOf(command.name)?.(access);
  readNamedFiles(access);
  writeNamedFiles(command.name, access);
}

/** Options of many programs that name a file to read: `docker run --env-file .env`, `kubectl … --from-file=k=.env`. */
function readNamedFiles({ args, read }: AccessRecorder): void {
  args.forEach((word, index) => {
    // Most words need no look by the expression.
    if (!word.template.startsWith('--env-file') && !word.template.startsWith('--from-')) return;
    const match = /^--(?:env-file|env-file-if-exists|from-env-file|from-file)(?:=(?:[^=/]+=)?(.*))?$/s.exec(
      word.template,
    );
    if (match === null) return;
    const value = match[1] === undefined ? args[index + 1] : wordOf(match[1], word.source);
    if (value !== undefined) read(value);
  });
}

const GNU_TOOLS = new Set([
  ...['sed', 'cp', 'mv', 'rm', 'ln', 'tar', 'dd', 'awk', 'tee', 'touch', 'truncate', 'install', 'shred'],
]);

function ruleOf(name: string): FileAccessRule | undefined {
  if (name === 'git') return git;
  // GNU tools on a Mac: gsed, gcp, grm.
  const plain = name.startsWith('g') && GNU_TOOLS.has(name.slice(1)) ? name.slice(1) : name;
  for (const table of TABLES) if (Object.hasOwn(table, plain)) return table[plain];
  return undefined;
}

function recorderIn(state: ShellState, command: ShellCommand, call: Call, context: ShellContext): AccessRecorder {
  return {
    args: call.words.slice(1),
    words: call.words,
    stdin: call.stdin,
    state,
    write: (word, how, extra) => recordWrite({ word, state, by: command.name, how, ...extra }, context, call.position),
    read: (word, recursive) => recordRead({ word, state, by: command.name, recursive }, context, call.position),
    inDirectory: (directory) => {
      const cwd = directory.startsWith('/') ? directory : `${state.cwd}/${directory}`;
      return recorderIn({ ...state, cwd }, command, call, context);
    },
  };
}
