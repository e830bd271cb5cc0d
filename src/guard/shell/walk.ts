import type { AndOr, CompoundList, PipelineNode, Script } from 'unbash';
import type {
  PathUse,
  ReadOptions,
  SearchedTree,
  ShellCommand,
  Undecidable,
  UndecidableKind,
} from './shell-reading.ts';
import { UNKNOWN } from './shell-reading.ts';
import type { World } from './world.ts';

/** What a command reads or prints, as a template. */
export interface Stream {
  readonly kind: 'none' | 'pipe' | 'file' | 'literal';
  readonly text: string;
  readonly under?: SearchedTree;
}

export interface Outcome {
  readonly worlds: readonly World[];
  /** Worlds in which it failed, where failing leaves something else behind (a `cd` into nothing). */
  readonly failed?: readonly World[];
  readonly output: Stream;
}

/** The facts gathered so far; the only thing that changes while a command is read. */
export interface Facts {
  readonly commands: ShellCommand[];
  readonly opened: ShellCommand[];
  readonly pipelines: Array<Array<ShellCommand[]>>;
  readonly writes: PathUse[];
  readonly reads: PathUse[];
  readonly undecidable: Undecidable[];
  readonly seen: Set<string>;
  readonly called: Set<unknown>;
  steps: number;
  /** What the element of a pipeline that is being read has come to, in every way it may run. */
  element: ShellCommand[];
}

/** Where the reading stands: handed down, never changed. */
export interface Walk {
  readonly facts: Facts;
  readonly options: ReadOptions;
  /** The text that the positions of the nodes index. */
  readonly source: string;
  /** Inside an opened string: where its opener stands in the user's command. */
  readonly position: number | null;
  readonly depth: number;
  readonly via: readonly string[];
  // The reading is recursive in its nature; these come by the walk so that its modules need not import each other in a ring.
  readonly node: (
    node: PipelineNode | AndOr | CompoundList,
    worlds: readonly World[],
    stdin: Stream,
    walk: Walk,
  ) => Outcome;
  readonly script: (script: Script, worlds: readonly World[], stdin: Stream, walk: Walk) => Outcome;
  readonly text: (text: string, worlds: readonly World[], stdin: Stream, walk: Walk) => Outcome;
}

export const NO_INPUT: Stream = { kind: 'none', text: '' };
export const SILENT: Stream = { kind: 'literal', text: '' };
export const UNKNOWN_STREAM: Stream = { kind: 'pipe', text: UNKNOWN };

/** Simple commands and words that are looked at in one reading. 1 MB of hostile input stays far below 200 ms with it. */
const MAX_STEPS = 6000;

/** Counts one piece of work; false once the bound is reached, which is reported once. */
export function spend(walk: Walk, position: number): boolean {
  walk.facts.steps += 1;
  if (walk.facts.steps <= MAX_STEPS) return true;
  report(walk, 'too-large', walk.source, position, null);
  return false;
}

/** Whether the bound is reached: then loops end at once. */
export function isSpent(walk: Walk): boolean {
  return walk.facts.steps > MAX_STEPS;
}

export function report(walk: Walk, kind: UndecidableKind, text: string, position: number, cwd: string | null): void {
  const key = kind === 'too-large' || kind === 'too-deep' ? kind : `${kind}\n${cwd}\n${text}`;
  if (walk.facts.seen.has(key)) return;
  walk.facts.seen.add(key);
  walk.facts.undecidable.push({ kind, text, position: walk.position ?? position, cwd });
}

export function literalOrNull(template: string): string | null {
  return template.includes(UNKNOWN) ? null : template;
}
