import { INSTANT } from '../text/time.ts';

/**
 * Shape of a value, made from its JSON Schema by scripts/build.ts:
 *
 * - a name, `true`, `=a|b` for one of these texts, or `1..100` for an integer in that range; with `?` behind it also null
 * - `[shape]`: an array of such values; `[shape, shape]`: any of these
 * - `['{', name, shape, …]`: an object with these properties. One may be missing where the name ends in `?`; `*` is every
 *   property that it has. No object stands for an object, since V8 makes one name by name.
 */
export type Shape = string | readonly Shape[];

/**
 * Returns null if `value` has this shape, else where and why not, such as `/breaker/denials must be count`. Further
 * properties are allowed. `text` is a string that is not empty, `count` an integer from 0, `amount` a number from 0.
 * Interprets data: generated code for the state is 41 KB, and the whole Stop hook has 40 (see docs/decisions/).
 */
export function checkShape(value: unknown, shape: Shape): string | null {
  const problem = problemIn(value, shape);
  return problem?.startsWith(' ') ? `it${problem}` : problem;
}

/** Each level adds its key to the problem below it, so a valid value, as nearly every one is, costs no text. */
function problemIn(value: unknown, shape: Shape): string | null {
  if (typeof shape === 'string') return fits(value, shape) ? null : ` must be ${shape.replace('=', 'one of ')}`;
  if (shape[0] !== '{') {
    if (shape.length === 1) return Array.isArray(value) ? inEach(value, shape[0] as Shape) : ' must be array';
    const problems = shape.map((option) => problemIn(value, option));
    return problems.includes(null) ? null : deepest(problems);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return ' must be object';
  for (let at = 1; at < shape.length; at += 2) {
    const name = shape[at] as string;
    const expected = shape[at + 1] as Shape;
    const key = name.endsWith('?') ? name.slice(0, -1) : name;
    if (name === '*') {
      const problem = inEach(value, expected);
      if (problem !== null) return problem;
    } else if (Object.hasOwn(value, key)) {
      const problem = problemIn((value as Fields)[key], expected);
      if (problem !== null) return `/${key}${problem}`;
    } else if (key === name) return `/${key} is missing`;
  }
  return null;
}

type Fields = Readonly<Record<string, unknown>>;

function inEach(values: object, shape: Shape): string | null {
  const entries: Iterable<[number | string, unknown]> = Array.isArray(values)
    ? values.entries()
    : Object.entries(values);
  for (const [key, value] of entries) {
    const problem = problemIn(value, shape);
    if (problem !== null) return `/${key}${problem}`;
  }
  return null;
}

function fits(value: unknown, shape: string): boolean {
  const mayBeNull = shape.endsWith('?');
  const name = mayBeNull ? shape.slice(0, -1) : shape;
  if (value === null) return mayBeNull || name === 'null';
  if (typeof value === name) return true;
  if (name.startsWith('='))
    return name
      .slice(1)
      .split('|')
      .some((option) => option === value);
  if (name === 'true') return value === true;
  if (name === 'amount') return typeof value === 'number' && value >= 0;
  if (name === 'instant') return typeof value === 'string' && INSTANT.test(value);
  if (name === 'text') return typeof value === 'string' && value !== '';
  const [min = 0, max = 0] = name === 'count' ? [0, Number.MAX_VALUE] : name.split('..').map(Number);
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

/** Returns the problem of the form that fits best, because it names the real error. */
function deepest(problems: readonly (string | null)[]): string | null {
  const depth = (problem: string | null): number => problem?.split(' ')[0]?.split('/').length ?? 0;
  return [...problems].sort((a, b) => depth(b) - depth(a))[0] ?? null;
}

/** Maximum depth of unknown keys: JSON.stringify indents, which turns 9 KB of brackets into 32 MB. */
const MAX_DEPTH = 100;

/** Returns whether a value is nested deeper than any of our files. */
export function isTooDeep(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const key in value) if (isTooDeep((value as Fields)[key], levels - 1)) return true;
  return false;
}
