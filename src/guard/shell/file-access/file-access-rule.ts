import { type FileAccess, type FileAccessKind, isUnknownPath, type ShellWord, UNKNOWN } from '../shell-reading.ts';
import { hasOddGlobs, literalOrNull, report, type ShellContext, type ShellState, type Stream } from '../shell-state.ts';

/** Recorder that a rule calls for each path that its command reads or writes. */
export interface AccessRecorder {
  readonly args: readonly ShellWord[];
  readonly words: readonly ShellWord[];
  readonly stdin: Stream;
  readonly state: ShellState;
  readonly write: (word: ShellWord, how: FileAccessKind, extra?: WriteDetails) => void;
  /** `recursive`: also everything below a directory. `unsure`: it may also be written. */
  readonly read: (word: ShellWord, recursive?: boolean, unsure?: boolean) => void;
  /** Marks a word whose file the program does not touch. Unexplained words may be written. */
  readonly explain: (word: ShellWord) => void;
  /** Returns the recorder for a command that works in another directory (-C). */
  readonly inDirectory: (directory: string) => AccessRecorder;
}

interface WriteDetails {
  readonly recursive?: boolean | undefined;
  readonly from?: ShellWord;
  readonly compared?: readonly string[] | undefined;
}

export type FileAccessRule = (access: AccessRecorder) => void;

interface Use extends WriteDetails {
  readonly word: ShellWord;
  readonly state: ShellState;
  readonly by: string;
  readonly how: FileAccessKind;
}

/** Records a write, and whether its target is undecidable because it is not literal. */
export function recordWrite(use: Use, context: ShellContext, position: number): void {
  const write = pathUse(use, context, position);
  if (write === null) return;
  context.facts.writes.push(write);
  const { under, source } = use.word;
  const isUndecided =
    under === undefined ? isUnknownPath(use.word, use.state.cwd) : under.roots.some((root) => root.includes(UNKNOWN));
  if (isUndecided) report(context, 'dynamic-write-target', source, position, literalOrNull(use.state.cwd));
}

export function recordRead(use: Omit<Use, 'how'>, context: ShellContext, position: number): void {
  const read = pathUse({ ...use, how: 'read' }, context, position);
  if (read !== null) context.facts.reads.push(read);
}

function pathUse(use: Use, context: ShellContext, position: number): FileAccess | null {
  const { word, state, by, how } = use;
  const key = `${how}\n${by}\n${state.cwd}\n${word.pattern ?? word.template}\n${JSON.stringify(word.under)}\n${use.recursive}\n${use.from?.template}\n${word.source}\n${JSON.stringify(use.compared)}`;
  if (context.facts.seen.has(key)) return null;
  context.facts.seen.add(key);
  return {
    word,
    cwdTemplate: state.cwd,
    by,
    how,
    ...(word.pattern !== undefined && hasOddGlobs(state) ? { odd: true as const } : {}),
    ...(use.recursive === true ? { recursive: true as const } : {}),
    ...(use.from === undefined ? {} : { from: use.from }),
    ...(use.compared === undefined ? {} : { compared: use.compared }),
    position: context.position ?? position,
  };
}
