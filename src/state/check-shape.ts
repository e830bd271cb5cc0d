import { INSTANT } from '../core/instant-pattern.ts';

/** The part of JSON Schema that the state's own schemas use; the build fails on any other keyword. */
export type Shape = NamedShape | SchemaShape;

/** Short for what every schema of ours repeats; `?` lets it be null. */
type Name = 'string' | 'boolean' | 'number' | 'count' | 'instant';
type NamedShape = Name | `${Name}?`;

export interface SchemaShape {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  /** Left out: every property is required. */
  readonly required?: readonly string[];
  readonly items?: Shape;
  readonly additionalProperties?: Shape;
  readonly anyOf?: readonly Shape[];
}

/**
 * null when `value` has this shape, else where it has not and why, such as `/breaker/denials must be integer`.
 * Interprets the schema instead of running generated code: for the state that code is 41 KB, and the whole Stop hook
 * has 40 (see docs/decisions.md). A property test holds it against ajv.
 */
export function checkShape(value: unknown, shape: Shape, path = ''): string | null {
  const here = path || 'it';
  if (typeof shape === 'string') return hasName(value, shape) ? null : `${here} must be ${shape}`;
  if (shape.const !== undefined && value !== shape.const) return `${here} must be ${JSON.stringify(shape.const)}`;
  if (shape.enum && !shape.enum.includes(value)) return `${here} must be one of ${shape.enum.join(', ')}`;
  if (shape.type !== undefined && !hasType(value, shape.type)) return `${here} must be ${String(shape.type)}`;
  if (shape.anyOf) {
    const problems = shape.anyOf.map((option) => checkShape(value, option, path));
    if (!problems.includes(null)) return deepest(problems) ?? `${here} fits none of its forms`;
  }
  if (typeof value === 'number') {
    if (shape.minimum !== undefined && value < shape.minimum) return `${here} must be at least ${shape.minimum}`;
    if (shape.maximum !== undefined && value > shape.maximum) return `${here} must be at most ${shape.maximum}`;
  }
  if (typeof value === 'string') {
    if (shape.minLength !== undefined && value.length < shape.minLength) return `${here} must not be empty`;
    if (shape.pattern !== undefined && !new RegExp(shape.pattern).test(value)) return `${here} is not of its form`;
  }
  if (Array.isArray(value) && shape.properties === undefined)
    return shape.items ? checkItems(value, shape.items, path) : null;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return checkObject(value, shape, path);
  if (shape.type !== undefined) return null;
  return shape.properties ? `${here} must be object` : shape.items ? `${here} must be array` : null;
}

function checkItems(values: readonly unknown[], shape: Shape, path: string): string | null {
  for (const [index, value] of values.entries()) {
    const problem = checkShape(value, shape, `${path}/${index}`);
    if (problem !== null) return problem;
  }
  return null;
}

function checkObject(value: object, shape: SchemaShape, path: string): string | null {
  for (const key of shape.required ?? Object.keys(shape.properties ?? {})) {
    if (!Object.hasOwn(value, key)) return `${path}/${key} is missing`;
  }
  for (const [key, item] of Object.entries(value)) {
    const own = shape.properties && Object.hasOwn(shape.properties, key) ? shape.properties[key] : undefined;
    const expected = own ?? shape.additionalProperties;
    const problem = expected ? checkShape(item, expected, `${path}/${key}`) : null;
    if (problem !== null) return problem;
  }
  return null;
}

function hasName(value: unknown, name: NamedShape): boolean {
  const optional = name.endsWith('?');
  if (value === null) return optional;
  const bare = optional ? name.slice(0, -1) : name;
  if (bare === 'count') return Number.isInteger(value) && Number(value) >= 0;
  if (bare === 'instant') return typeof value === 'string' && INSTANT.test(value);
  return typeof value === bare;
}

function hasType(value: unknown, type: string | readonly string[]): boolean {
  if (typeof type !== 'string') return type.some((one) => hasType(value, one));
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

/** Of the reasons why no form fits, the one that got furthest names the real problem. */
function deepest(problems: readonly (string | null)[]): string | undefined {
  const depth = (problem: string): number => problem.split(' ', 1)[0]?.split('/').length ?? 0;
  return problems.filter((problem) => problem !== null).sort((a, b) => depth(b) - depth(a))[0];
}
