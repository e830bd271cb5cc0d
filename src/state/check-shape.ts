import { INSTANT } from '../core/instant-pattern.ts';

/**
 * What a value must be, made from the JSON Schema of the state by scripts/build.ts. `?` lets it be null, and
 * `[shape]` is an array of such values.
 */
export type Shape =
  | ShapeName
  | `${ShapeName}?`
  | { readonly has: Readonly<Record<string, Shape>> }
  | { readonly values: Shape }
  | readonly Shape[]
  /** Of a named property: it may be missing. */
  | { readonly opt: Shape }
  | { readonly enum: readonly unknown[] }
  | { readonly min: number; readonly max: number }
  | { readonly anyOf: readonly Shape[] };

/** `text` is a string that is not empty, `count` an integer from 0, `amount` a number from 0. */
type ShapeName = 'string' | 'text' | 'boolean' | 'number' | 'count' | 'amount' | 'instant' | 'null';

/**
 * null when `value` has this shape, else where it has not and why, such as `/breaker/denials must be count`. Every
 * named property is required that is not `opt`, further ones are let be.
 * Interprets data instead of running generated code: for the state that code is 41 KB, and the whole Stop hook has 40
 * (see docs/decisions.md). A property test holds it against ajv on the published schema.
 */
export function checkShape(value: unknown, shape: Shape, path = ''): string | null {
  const must = (what: string): string => `${path || 'it'} must be ${what}`;
  if (typeof shape === 'string') return hasName(value, shape) ? null : must(shape);
  if ('opt' in shape) return checkShape(value, shape.opt, path);
  if ('enum' in shape) return shape.enum.includes(value) ? null : must(`one of ${shape.enum.join(', ')}`);
  if ('min' in shape) return within(value, shape.min, shape.max) ? null : must(`from ${shape.min} to ${shape.max}`);
  if ('anyOf' in shape) {
    const problems = shape.anyOf.map((option) => checkShape(value, option, path));
    return problems.includes(null) ? null : deepest(problems);
  }
  if ('length' in shape) {
    const [inner = 'null'] = shape;
    return Array.isArray(value)
      ? first(value, (item, index) => checkShape(item, inner, `${path}/${index}`))
      : must('array');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return must('object');
  if ('values' in shape) {
    return first(Object.entries(value), ([key, item]) => checkShape(item, shape.values, `${path}/${key}`));
  }
  return first(Object.entries(shape.has), ([key, expected]) => {
    const at = `${path}/${key}`;
    if (Object.hasOwn(value, key)) return checkShape((value as Record<string, unknown>)[key], expected, at);
    return (expected as { opt?: Shape }).opt ? null : `${at} is missing`;
  });
}

function first<T>(values: readonly T[], problem: (value: T, index: number) => string | null): string | null {
  for (const [index, value] of values.entries()) {
    const found = problem(value, index);
    if (found !== null) return found;
  }
  return null;
}

function hasName(value: unknown, name: string): boolean {
  if (value === null) return name.endsWith('?') || name === 'null';
  const bare = name.replace('?', '');
  if (bare === 'count') return within(value, 0, Number.MAX_VALUE);
  if (bare === 'amount') return typeof value === 'number' && value >= 0;
  if (bare === 'instant') return typeof value === 'string' && INSTANT.test(value);
  if (bare === 'text') return typeof value === 'string' && value !== '';
  return typeof value === bare;
}

function within(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

/** Of the reasons why no form fits, the one that got furthest names the real problem. */
function deepest(problems: readonly (string | null)[]): string | null {
  const depth = (problem: string | null): number => problem?.split(' ')[0]?.split('/').length ?? 0;
  return [...problems].sort((a, b) => depth(b) - depth(a))[0] ?? null;
}
