import { type PathUse, type PathUseKind, type ShellWord, UNKNOWN } from '../shell-reading.ts';
import { literalOrNull, report, type Stream, type Walk, type World } from '../shell-state.ts';

/** What a table entry is given to say which paths its command uses. */
export interface PathUses {
  /** The words after the command word. */
  readonly args: readonly ShellWord[];
  /** All words. */
  readonly words: readonly ShellWord[];
  readonly stdin: Stream;
  readonly world: World;
  readonly write: (word: ShellWord, how: PathUseKind, extra?: WriteDetails) => void;
  /** `recursive`: everything below a directory too. */
  readonly read: (word: ShellWord, recursive?: boolean) => void;
  /** The same for a command that works in another directory (-C). */
  readonly inDirectory: (directory: string) => PathUses;
}

export interface WriteDetails {
  readonly recursive?: boolean;
  readonly from?: ShellWord | undefined;
  readonly excludes?: readonly string[];
}

export type PathUser = (uses: PathUses) => void;

interface Use {
  readonly word: ShellWord;
  readonly world: World;
  readonly by: string;
  readonly how: PathUseKind;
  readonly recursive?: boolean | undefined;
  readonly from?: ShellWord | undefined;
  readonly excludes?: readonly string[] | undefined;
}

/** Records a write, and that its target cannot be decided where it is not literal. */
export function addWrite(use: Use, walk: Walk, position: number): void {
  const write = pathUse(use, walk, position);
  if (write === null) return;
  walk.facts.writes.push(write);
  if (isUndecided(write)) report(walk, 'dynamic-write-target', use.word.source, position, write.cwd);
}

export function addRead(use: Omit<Use, 'how'>, walk: Walk, position: number): void {
  const read = pathUse({ ...use, how: 'read' }, walk, position);
  if (read !== null) walk.facts.reads.push(read);
}

function isUndecided({ word, target, cwd }: PathUse): boolean {
  if (word.under !== undefined) return word.under.roots.some((root) => root.includes(UNKNOWN));
  return target === null || (cwd === null && !target.startsWith('/'));
}

function pathUse(use: Use, walk: Walk, position: number): PathUse | null {
  const { word, world, by, how } = use;
  const key = `${how}\n${by}\n${world.cwd}\n${word.pattern ?? word.template}\n${JSON.stringify(word.under)}\n${use.recursive}\n${use.from?.template}`;
  if (walk.facts.seen.has(key)) return null;
  walk.facts.seen.add(key);
  return {
    target: word.text,
    word,
    cwd: literalOrNull(world.cwd),
    cwdTemplate: world.cwd,
    by,
    how,
    ...(use.recursive === true ? { recursive: true as const } : {}),
    ...(use.from === undefined ? {} : { from: use.from }),
    ...(use.excludes === undefined ? {} : { excludes: use.excludes }),
    position: walk.position ?? position,
  };
}
