import type { ShellWord } from './shell-reading.ts';
import type { Stream } from './walk.ts';
import type { ValueWord, World } from './world.ts';

/** An assignment in front of a command. */
export interface Assigned {
  readonly name: string;
  readonly words: readonly ValueWord[];
}

/** One simple command, expanded, in one world; wrappers peel off its front. */
export interface Call {
  readonly words: readonly ShellWord[];
  readonly assignments: readonly Assigned[];
  readonly world: World;
  readonly stdin: Stream;
  readonly source: string;
  readonly position: number;
}
