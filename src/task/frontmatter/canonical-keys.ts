import type * as z from 'zod';
import { type KeyProblem, keyPath, printableValue } from './problem.ts';

type Keys = readonly (string | number)[];

/** Names of keys in other loops. */
const ALIASES: Readonly<Record<string, string>> = { effort: 'thinking' };

/** Renames camelCase aliases (snake_case takes precedence); drops unknown keys and keys without a value, each with a warning. */
export function canonicalKeys(value: unknown, schema: unknown, problems: KeyProblem[], at: Keys = []): unknown {
  if (Array.isArray(value)) {
    const element = elementType(schema);
    return element ? value.map((item, index) => canonicalKeys(item, element, problems, [...at, index])) : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  const shape = mappingShape(schema);
  if (shape === null) return value;
  const known = Object.keys(shape);
  const renamed: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const alias = known.find((candidate) => camelCase(candidate) === key || ALIASES[candidate] === key);
    const name = known.includes(key) ? key : alias;
    if (name === undefined) {
      const within = keyPaths(schema).find(({ path }) => path.endsWith(`.${snakeCase(key)}`));
      const hint = within ? ` Did you mean "${within.path}"?` : suggestion(key, known);
      const why = `is not a known key and does nothing.${hint}`;
      problems.push(idle([...at, key], item, 'unknown-key', why));
    } else if (name !== key && Object.hasOwn(value, name)) {
      const why = `does nothing, because ${keyPath([...at, name])} is also set and takes precedence.`;
      problems.push(idle([...at, key], item, 'alias', why));
    } else if (item === null) problems.push(empty(name, at));
    else renamed[name] = canonicalKeys(item, shape[name], problems, [...at, name]);
  }
  return renamed;
}

function idle(keys: Keys, value: unknown, rule: string, why: string): KeyProblem {
  return { keys, value: printableValue(value), rule, message: `${keyPath(keys)} ${why}`, severity: 'warning' };
}

/** Keys that protect the user. Leaving one empty is an error, because the loop would run without its rule. */
const PROTECTS = new Set(['guardrails', 'budget', 'validation', 'required_outputs', 'unchanged', 'verify_in']);

function empty(name: string, at: Keys): KeyProblem {
  const keys = [...at, name];
  const hint = name === 'idle' ? ' To switch idle on with its defaults, write: idle: {}' : '';
  const isError = PROTECTS.has(String(keys[0]));
  const what = isError ? '. Write one, or remove the key.' : ` and is ignored.${hint}`;
  const message = `${keyPath(keys)} has no value${what}`;
  return { keys, value: null, rule: 'no-value', message, severity: isError ? 'error' : 'warning' };
}

/** Returns a question to add to a message about an unknown name; empty if no known name is similar. */
export function suggestion(name: string, known: readonly string[]): string {
  const nearest = nearestKey(name, known);
  return nearest === null ? '' : ` Did you mean "${nearest}"?`;
}

/** Returns the known name that was probably meant: the closest by edit distance; null if none is close. */
export function nearestKey(key: string, known: readonly string[]): string | null {
  const wanted = snakeCase(key).slice(0, 64);
  const distances = known.map((candidate) => editDistance(wanted, snakeCase(candidate)));
  const least = Math.min(...distances);
  const nearest = known[distances.indexOf(least)];
  return nearest !== undefined && least <= Math.max(2, Math.floor(nearest.length / 3)) ? nearest : null;
}

export function snakeCase(key: string): string {
  return key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
}

export function camelCase(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2] : last[j];
      row.push(1 + Math.min(last[j] ?? 0, row[j - 1] ?? 0, (last[j - 1] ?? 0) + same - 1, swapped ?? 0));
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}

export function bareType(type: unknown): z.ZodType | undefined {
  const known = type as z.ZodType | undefined;
  return known?.def.type === 'optional' ? bareType((known as z.ZodOptional).unwrap()) : known;
}

/** Returns the keys of a mapping, or of all mappings of a union; null if there are none. */
function mappingShape(type: unknown): Record<string, unknown> | null {
  const bare = bareType(type);
  if (bare?.def.type === 'object') return (bare as z.ZodObject).shape;
  if (bare?.def.type !== 'union') return null;
  const shapes = (bare as z.ZodUnion<z.ZodType[]>).options.map(mappingShape).filter((shape) => shape !== null);
  return shapes.length === 0 ? null : Object.assign({}, ...shapes);
}

function elementType(type: unknown): unknown {
  const bare = bareType(type);
  return bare?.def.type === 'array' ? (bare as z.ZodArray).element : undefined;
}

/** Returns all key paths of nested mappings, parents first: `idle`, `idle.delay`, … */
export function keyPaths(type: unknown, parent = ''): { readonly path: string; readonly type: unknown }[] {
  const bare = bareType(type);
  if (bare?.def.type !== 'object') return [];
  return Object.entries((bare as z.ZodObject).shape).flatMap(([key, inner]) => {
    const path = parent === '' ? key : `${parent}.${key}`;
    return [{ path, type: inner }, ...keyPaths(inner, path)];
  });
}
