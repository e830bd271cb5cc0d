import { posix } from 'node:path';
import type * as Shell from '../../text/shell/parse-shell.ts';
import {
  type Growing,
  type ReadOptions,
  type SearchedTree,
  type ShellCommand,
  type ShellReading,
  type ShellWord,
  UNKNOWN,
  type UndecidableKind,
} from './shell-reading.ts';

export interface ValueWord {
  readonly template: string;
  /** Glob whose matches the value represents (`for f in *.json`). */
  readonly pattern?: string;
  readonly under?: SearchedTree;
  /** Its key in an associative array. */
  readonly key?: string;
  /** Variable to which a name reference (`declare -n`) refers. */
  readonly reference?: string;
}

type FunctionBody =
  | { readonly kind: 'function'; readonly node: Shell.Function['body']; readonly source: string }
  | { readonly kind: 'alias'; readonly text: string };

/** State of the shell at one point of a possible run. Immutable. */
export interface ShellState {
  /** Template of an absolute path. */
  readonly cwd: string;
  readonly previous: string;
  readonly stack: readonly string[];
  readonly variables: ReadonlyMap<string, readonly ValueWord[]>;
  /** Positional parameters; null: the caller's arguments. */
  readonly positional: readonly ValueWord[] | null;
  readonly functions: ReadonlyMap<string, FunctionBody>;
  /** Files that this command itself wrote with known content, by path template. */
  readonly files: ReadonlyMap<string, string>;
}

export type States = readonly ShellState[];

/** Maximum number of possible runs; further ones are widened into one with less knowledge, which keeps the work linear. */
const MAX_STATES = 8;

/** Joins the possible runs of branches that meet again. */
export function joinStates(...groups: ReadonlyArray<States>): ShellState[] {
  const byKey = new Map<string, ShellState>();
  for (const state of groups.flat()) byKey.set(keyOf(state), state);
  const states = [...byKey.values()];
  const [first, ...others] = states;
  if (first === undefined || states.length <= MAX_STATES) return states;
  return [others.reduce(widen, first)];
}

function keyOf({ cwd, previous, stack, variables, positional, functions, files }: ShellState): string {
  const bodies = [...functions].map(([name, body]) => [name, body.kind === 'alias' ? body.text : body.node.pos]);
  return JSON.stringify([cwd, previous, stack, [...variables], positional, bodies, [...files]]);
}

function widen(left: ShellState, right: ShellState): ShellState {
  const variables = new Map(left.variables);
  for (const [name, value] of right.variables) {
    if (JSON.stringify(left.variables.get(name)) !== JSON.stringify(value))
      variables.set(name, [{ template: UNKNOWN }]);
  }
  for (const name of left.variables.keys()) {
    if (!right.variables.has(name)) variables.set(name, [{ template: UNKNOWN }]);
  }
  return {
    ...left,
    variables,
    cwd: left.cwd === right.cwd ? left.cwd : UNKNOWN,
    functions: new Map([...left.functions, ...right.functions]),
    files: new Map(),
  };
}

/** Limits that keep hostile input linear: `a=$a$a$a$a` thirty times, hundreds of variables in as many branches. */
const MAX_VARIABLES = 100;
const MAX_VALUE = 16 * 1024;

export function withVariable(state: ShellState, given: string, value: readonly ValueWord[] | undefined): ShellState {
  const variables = new Map(state.variables);
  // An assignment to a name reference changes the variable to which it refers.
  const name = (value?.[0]?.reference === undefined && variables.get(given)?.[0]?.reference) || given;
  // `cd -` goes there.
  if (name === 'OLDPWD') return { ...state, previous: value?.[0]?.template ?? UNKNOWN };
  if (value === undefined) variables.delete(name);
  else if (variables.size < MAX_VARIABLES || variables.has(name)) {
    const attribute = variables.get(caseKey(name))?.[0]?.template;
    const bounded = (template: string): string => (template.length > MAX_VALUE ? UNKNOWN : inCase(template, attribute));
    variables.set(
      name,
      value.map((each) => ({ ...each, template: bounded(each.template) })),
    );
  }
  return { ...state, variables };
}

/** Returns the key that stores a variable's `declare -l` or `-u` attribute. */
export function caseKey(name: string): string {
  return `\0case:${name}`;
}

function inCase(text: string, attribute: string | undefined): string {
  if (attribute === undefined) return text;
  return attribute === 'l' ? text.toLowerCase() : attribute === 'u' ? text.toUpperCase() : UNKNOWN;
}

/** Variable that is set once a setting changes how globs match (shopt, GLOBIGNORE, bash -O). */
const ODD_GLOBS = '\0globs';

export function withOddGlobs(state: ShellState): ShellState {
  return withVariable(state, ODD_GLOBS, [{ template: 'odd' }]);
}

export function hasOddGlobs({ variables }: ShellState): boolean {
  return ['GLOBIGNORE', 'BASHOPTS', 'SHELLOPTS', ODD_GLOBS].some((name) => variables.has(name));
}

export interface Stream {
  readonly kind: 'none' | 'pipe' | 'file' | 'literal';
  readonly text: string;
  readonly under?: SearchedTree;
}

export interface Outcome {
  readonly states: States;
  /** States in which it failed, if failure has a different effect (a `cd` to a missing directory). */
  readonly failed?: States;
  readonly output: Stream;
}

/** Facts gathered so far; nothing else changes while a command is read. */
export interface Facts extends Growing<ShellReading> {
  readonly seen: Set<string>;
  readonly called: Set<unknown>;
  steps: number;
  /** True after `exec > file`. */
  away?: true;
  /** A path of `temporaryPath` was used. */
  isTemporary?: true;
  /** Commands of the current element of a pipeline. */
  element: ShellCommand[];
}

/** Code for a shell: a text, a parsed script, or a part of one. */
export type Code = string | Shell.Script | Shell.PipelineNode | Shell.AndOr | Shell.CompoundList;

/** Environment of the code being interpreted. Passed down, never changed. */
export interface ShellContext {
  readonly facts: Facts;
  readonly options: ReadOptions;
  /** Text to which the positions of the nodes refer. */
  readonly source: string;
  /** In an opened text: position of its opener in the user's command. */
  readonly position: number | null;
  readonly depth: number;
  readonly via: readonly string[];
  /** Output here goes to a file, a variable or another descriptor. */
  readonly away?: true;
  /** Standard input of the command whose words are being expanded, shared by the substitutions in them. */
  readonly stdin?: Stream;
  readonly interpret: (code: Code, states: States, stdin: Stream, context: ShellContext) => Outcome;
}

export const NO_INPUT: Stream = { kind: 'none', text: '' };
export const SILENT: Stream = { kind: 'literal', text: '' };
export const UNKNOWN_STREAM: Stream = { kind: 'pipe', text: UNKNOWN };

/** Maximum number of simple commands and words in one reading, which keeps 1 MB of hostile input far below 200 ms. */
const MAX_STEPS = 6000;

/** Counts one unit of work; returns false once the limit is reached, which is reported once. */
export function spend(context: ShellContext, position: number): boolean {
  context.facts.steps += 1;
  if (context.facts.steps <= MAX_STEPS) return true;
  report(context, 'too-large', context.source, position, null);
  return false;
}

/** Returns whether the limit is reached, which ends every loop. */
export function isSpent(context: ShellContext): boolean {
  return context.facts.steps > MAX_STEPS;
}

export function report(
  context: ShellContext,
  kind: UndecidableKind,
  text: string,
  position: number,
  cwd: string | null,
): void {
  const key = kind === 'too-large' || kind === 'too-deep' ? kind : `${kind}\n${cwd}\n${text}`;
  if (context.facts.seen.has(key)) return;
  context.facts.seen.add(key);
  context.facts.undecidable.push({ kind, text, position: context.position ?? position, cwd });
}

export function reportCall(context: ShellContext, kind: UndecidableKind, call: Call, text = call.source): void {
  report(context, kind, text, call.position, literalOrNull(call.state.cwd));
}

/** Returns the context of code that a command opens: positions in it are those of the command. */
export function inside(context: ShellContext, call: Call, name?: string): ShellContext {
  const via = name === undefined ? context.via : [...context.via, name];
  return { ...context, via, position: context.position ?? call.position };
}

export function literalOrNull(template: string): string | null {
  return template.includes(UNKNOWN) ? null : template;
}

export interface Assigned {
  readonly name: string;
  readonly words: readonly ValueWord[];
}

/** An expanded simple command in one state; wrappers are removed from its front. */
export interface Call {
  readonly words: readonly ShellWord[];
  readonly assignments: readonly Assigned[];
  readonly state: ShellState;
  readonly stdin: Stream;
  readonly source: string;
  readonly position: number;
}

export type Opened = { readonly kind: 'call'; readonly call: Call } | { readonly kind: 'text'; readonly text: string };

export interface Unwrapped {
  readonly next: readonly Opened[];
  /** True if the wrapper also acts itself and stays in the reading. */
  readonly keepsItself: boolean;
}

/** Returns the variable for the files named by a list in a file. */
export function listKey(path: string): string {
  return `\0list:${path}`;
}

/** Returns the key for the content of a file that the command itself writes. */
export function fileKey(path: string, state: ShellState): string {
  return posix.normalize(fromCwd(path, state));
}

/** Content from reading a file: a substitution, a file that this command wrote with known content, or anything. */
export function inputFrom({ template, content, contentUnder }: ShellWord, state: ShellState): Stream {
  const key = fileKey(template, state);
  const known = content ?? state.files.get(key);
  const under = contentUnder ?? state.variables.get(listKey(key))?.[0]?.under;
  return { kind: known === undefined ? 'file' : 'literal', text: known ?? UNKNOWN, ...(under && { under }) };
}

/** Returns the path in the temporary folder that a command creates or names at this position; `UNKNOWN` in doubt. */
export function temporaryPath(position: number, { facts, options }: ShellContext): string {
  facts.isTemporary = true;
  return options.doubtsTemporary ? UNKNOWN : `/tmp/tmp.new-${position}`;
}

export function fromCwd(path: string, { cwd }: Pick<ShellState, 'cwd'>): string {
  return path.startsWith('/') ? path : `${cwd}/${path}`;
}
