import type { PathUseKind, ShellWord } from '../shell-reading.ts';
import type { Stream } from '../walk.ts';
import type { World } from '../world.ts';

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
