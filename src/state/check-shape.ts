import { INSTANT } from '../text/time.ts';

/** The keywords of JSON Schema that zod writes for stored files. The build fails on others (scripts/build-shapes.ts). */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  /** INSTANT, the only pattern of stored files. */
  readonly pattern?: string;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly properties?: Fields<Schema>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly anyOf?: readonly Schema[];
  /** Forms that exclude each other. */
  readonly oneOf?: readonly Schema[];
}

type Fields<T> = Readonly<Record<string, T>>;

/**
 * Returns null if `value` fits a JSON Schema, else where and why not, such as `/breaker/denials must be integer`. Further
 * properties are allowed. Interprets the schema: code that ajv generates from it is 20 times as large (docs/decisions/0128).
 */
export function checkShape(value: unknown, schema: Schema): string | null {
  const problem = problemIn(value, schema);
  return problem?.startsWith(' ') ? `it${problem}` : problem;
}

/** Each level prepends its key to the problem below it, so a valid value, the usual case, builds no text. */
function problemIn(value: unknown, schema: Schema): string | null {
  const { type, anyOf, oneOf = anyOf } = schema;
  if (oneOf !== undefined) return problemInAny(value, oneOf);
  if (type !== undefined && !isOf(value, type)) return ` must be ${[type].flat().join(' or ')}`;
  if (schema.const !== undefined && value !== schema.const) return ` must be ${schema.const}`;
  if (schema.enum?.includes(value) === false) return ` must be one of ${schema.enum.join(', ')}`;
  if (typeof value === 'number') return problemInNumber(value, schema);
  if (typeof value === 'string') {
    if (schema.minLength !== undefined && value.length < schema.minLength) return ' must not be empty';
    return schema.pattern === undefined || INSTANT.test(value) ? null : ' must be a time such as 2026-02-28T10:00:00Z';
  }
  if (Array.isArray(value)) {
    const { items, minItems = 0 } = schema;
    if (value.length < minItems) return ` must have at least ${minItems} entries`;
    return items === undefined ? null : problemInEach(value.entries(), items);
  }
  return typeof value === 'object' && value !== null ? problemInFields(value as Fields<unknown>, schema) : null;
}

function problemInNumber(value: number, { minimum, exclusiveMinimum, maximum }: Schema): string | null {
  if (minimum !== undefined && value < minimum) return ` must be at least ${minimum}`;
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return ` must be more than ${exclusiveMinimum}`;
  return maximum !== undefined && value > maximum ? ` must be at most ${maximum}` : null;
}

function isOf(value: unknown, type: string | readonly string[]): boolean {
  if (typeof type !== 'string') return type.some((each) => isOf(value, each));
  if (type === 'integer') return Number.isInteger(value);
  return type === (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
}

/** Returns null if a form fits, else the problem of the one that fits best, since that names the real error. */
function problemInAny(value: unknown, forms: readonly Schema[]): string | null {
  let deepest: string | null = null;
  for (const form of forms) {
    const problem = problemIn(value, form);
    if (problem === null) return null;
    if (deepest === null || problem.split('/').length > deepest.split('/').length) deepest = problem;
  }
  return deepest;
}

function problemInFields(
  value: Fields<unknown>,
  { properties = {}, required, additionalProperties }: Schema,
): string | null {
  for (const key of required ?? []) if (!Object.hasOwn(value, key)) return `/${key} is missing`;
  for (const key in properties) {
    const problem = Object.hasOwn(value, key) ? problemIn(value[key], properties[key] as Schema) : null;
    if (problem !== null) return `/${key}${problem}`;
  }
  return additionalProperties === undefined ? null : problemInEach(Object.entries(value), additionalProperties);
}

function problemInEach(entries: Iterable<readonly [number | string, unknown]>, schema: Schema): string | null {
  for (const [key, value] of entries) {
    const problem = problemIn(value, schema);
    if (problem !== null) return `/${key}${problem}`;
  }
  return null;
}

/** Maximum depth of unknown keys: the indentation of JSON.stringify would turn 9 KB of brackets into 32 MB. */
const MAX_DEPTH = 100;

/** Returns whether a value is nested deeper than any of our files. */
export function isTooDeep(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const key in value) if (isTooDeep((value as Fields<unknown>)[key], levels - 1)) return true;
  return false;
}
