import type { Function as FunctionNode } from 'unbash';
import type { SearchedTree } from './shell-reading.ts';
import { UNKNOWN } from './shell-reading.ts';

/** One word of a variable's value. */
export interface ValueWord {
  readonly template: string;
  /** Set when the value stands for what a glob matches (`for f in *.json`). */
  readonly pattern?: string;
  readonly under?: SearchedTree;
}

export type FunctionBody =
  | { readonly kind: 'function'; readonly node: FunctionNode['body']; readonly source: string }
  | { readonly kind: 'alias'; readonly text: string };

/** What the shell knows at one point of one possible run. Never changed in place. */
export interface World {
  /** Template of an absolute path. */
  readonly cwd: string;
  readonly previous: string;
  readonly stack: readonly string[];
  readonly variables: ReadonlyMap<string, readonly ValueWord[]>;
  /** null: what the caller passed. */
  readonly positional: readonly ValueWord[] | null;
  readonly functions: ReadonlyMap<string, FunctionBody>;
  /** Files that this command itself wrote with known content, by path template. */
  readonly files: ReadonlyMap<string, string>;
}

/** More possible runs than this are melted into one that knows less: it keeps the work linear. */
const MAX_WORLDS = 8;

/** The possible runs after branches that meet again. */
export function uniteWorlds(...groups: ReadonlyArray<readonly World[]>): World[] {
  const byKey = new Map<string, World>();
  for (const world of groups.flat()) byKey.set(keyOf(world), world);
  const worlds = [...byKey.values()];
  const [first, ...others] = worlds;
  if (first === undefined || worlds.length <= MAX_WORLDS) return worlds;
  return [others.reduce(melt, first)];
}

function keyOf(world: World): string {
  return JSON.stringify([
    world.cwd,
    world.previous,
    world.stack,
    [...world.variables],
    world.positional,
    [...world.files],
  ]);
}

function melt(left: World, right: World): World {
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

/** Both keep hostile input linear: `a=$a$a$a$a` thirty times, hundreds of variables in as many branches. */
const MAX_VARIABLES = 100;
const MAX_VALUE = 16 * 1024;

function bounded(value: ValueWord): ValueWord {
  return value.template.length > MAX_VALUE ? { template: UNKNOWN } : value;
}

export function withVariable(world: World, name: string, value: readonly ValueWord[] | undefined): World {
  const variables = new Map(world.variables);
  if (value === undefined) variables.delete(name);
  else if (variables.size < MAX_VARIABLES || variables.has(name)) variables.set(name, value.map(bounded));
  return { ...world, variables };
}
