import { type FileAccess, type FileAccessKind, type ShellWord, UNKNOWN } from '../shell-reading.ts';
import { literalOrNull, report, type ShellContext, type ShellState, type Stream } from '../shell-state.ts';
import { splitOptions } from '../words.ts';

/** Recorder that a rule calls for each path its command reads or writes. */
export interface AccessRecorder {
  readonly args: readonly ShellWord[];
  readonly words: readonly ShellWord[];
  readonly stdin: Stream;
  readonly state: ShellState;
  readonly write: (word: ShellWord, how: FileAccessKind, extra?: WriteDetails) => void;
  /** `recursive`: everything below a directory too. */
  readonly read: (word: ShellWord, recursive?: boolean) => void;
  /** Returns the recorder for a command that works in another directory (-C). */
  readonly inDirectory: (directory: string) => AccessRecorder;
}

export interface WriteDetails {
  readonly recursive?: boolean | undefined;
  readonly from?: ShellWord;
  readonly excludes?: readonly string[];
}

export type FileAccessRule = (access: AccessRecorder) => void;

/** Records files that a program changes in place, or only reads. */
export function changeOrRead({ write, read }: AccessRecorder, words: readonly ShellWord[], changes: boolean): void {
  for (const word of words)
    if (changes) write(word, 'argument');
    else read(word);
}

/** Returns the rule of a program that writes all its operands; `values`: its options with a value. */
export function writesAll(values: string): FileAccessRule {
  return (access) => changeOrRead(access, splitOptions(access.args, values).operands, true);
}

/** Returns the rule of a program that reads all its operands, but the first `skip`. */
export function readsAll(values: string, skip = 0): FileAccessRule {
  return (access) => changeOrRead(access, splitOptions(access.args, values).operands.slice(skip), false);
}

/** Returns the rule of a program whose first operand is its input, the second its output. */
export function converts(values: string): FileAccessRule {
  return (access) => {
    const [from, to] = splitOptions(access.args, values).operands;
    if (from !== undefined) access.read(from);
    if (to !== undefined) access.write(to, 'argument');
  };
}

interface Use extends WriteDetails {
  readonly word: ShellWord;
  readonly state: ShellState;
  readonly by: string;
  readonly how: FileAccessKind;
}

/** Records a write, and that its target cannot be decided where it is not literal. */
export function recordWrite(use: Use, context: ShellContext, position: number): void {
  const write = pathUse(use, context, position);
  if (write === null) return;
  context.facts.writes.push(write);
  if (isUndecided(write)) report(context, 'dynamic-write-target', use.word.source, position, write.cwd);
}

export function recordRead(use: Omit<Use, 'how'>, context: ShellContext, position: number): void {
  const read = pathUse({ ...use, how: 'read' }, context, position);
  if (read !== null) context.facts.reads.push(read);
}

function isUndecided({ word, target, cwd }: FileAccess): boolean {
  if (word.under !== undefined) return word.under.roots.some((root) => root.includes(UNKNOWN));
  return target === null || (cwd === null && !target.startsWith('/'));
}

function pathUse(use: Use, context: ShellContext, position: number): FileAccess | null {
  const { word, state, by, how } = use;
  const key = `${how}\n${by}\n${state.cwd}\n${word.pattern ?? word.template}\n${JSON.stringify(word.under)}\n${use.recursive}\n${use.from?.template}`;
  if (context.facts.seen.has(key)) return null;
  context.facts.seen.add(key);
  return {
    target: word.text,
    word,
    cwd: literalOrNull(state.cwd),
    cwdTemplate: state.cwd,
    by,
    how,
    ...(use.recursive === true ? { recursive: true as const } : {}),
    ...(use.from === undefined ? {} : { from: use.from }),
    ...(use.excludes === undefined ? {} : { excludes: use.excludes }),
    position: context.position ?? position,
  };
}
