import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { ONE_LINE } from '../../text/characters.ts';
import { keyPath, printableValue, shownValue } from '../frontmatter/problem.ts';

export interface SchemaProblem {
  /** `maxIterations`, `args.env`; '' for the whole value. */
  readonly path: string;
  readonly value: unknown;
  readonly rule: string;
  readonly message: string;
}

export function schemaChecker(schema: object): (value: unknown) => SchemaProblem[] {
  // Generated from zod, whose annotations ajv does not know.
  const ajv = new Ajv({ allErrors: true, strict: false, verbose: true });
  let validate: ValidateFunction | null = null;
  return (value) => {
    validate ??= ajv.compile(schema);
    if (validate(value)) return [];
    const problems = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'anyOf').map(problemOf);
    const said = new Set<string>();
    return problems.filter(({ path, message }) => !said.has(`${path} ${message}`) && said.add(`${path} ${message}`));
  };
}

function problemOf({ instancePath, keyword, params, data, parentSchema }: ErrorObject): SchemaProblem {
  const keys = instancePath
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const missing = keyword === 'required' ? [String(params['missingProperty'])] : [];
  const path = keyPath([...keys, ...missing]);
  const name = path === '' ? 'it' : path;
  if (keyword === 'required') return { path, value: null, rule: keyword, message: `${name} is missing` };
  const must = wanted(keyword, params, parentSchema ?? {}, data);
  const message = `${name} must be ${must}, but is ${shownValue(data)}`;
  return { path, value: printableValue(data), rule: keyword, message };
}

function wanted(
  keyword: string,
  params: Readonly<Record<string, unknown>>,
  schema: Readonly<Record<string, unknown>>,
  data: unknown,
): string {
  const { minimum, maximum } = schema;
  const bounded = typeof minimum === 'number' && typeof maximum === 'number' && maximum < Number.MAX_SAFE_INTEGER;
  const range = bounded ? ` from ${minimum} to ${maximum}` : typeof minimum === 'number' ? ` from ${minimum} on` : '';
  switch (keyword) {
    case 'type':
      return `${articles(params['type'])}${params['type'] === 'integer' ? range : ''}`;
    case 'minimum':
    case 'maximum':
      return `${article(String(schema['type']))}${range}`;
    case 'minLength':
      return 'a text that is not empty';
    case 'pattern':
      return wantedText(String(schema['pattern']), data);
    case 'const':
      return JSON.stringify(params['allowedValue']);
    case 'enum':
      return `one of ${(params['allowedValues'] as unknown[]).map((one) => JSON.stringify(one)).join(', ')}`;
    default:
      return `as the schema says (${keyword})`;
  }
}

function wantedText(pattern: string, data: unknown): string {
  if (typeof data === 'string' && data.trim() === '') return 'a text that is not empty';
  if (pattern === ONE_LINE.source) return 'a text of one line, without white space at its ends';
  return `a text of the form ${pattern}`;
}

function articles(types: unknown): string {
  const names = (Array.isArray(types) ? types : [types]).map((type) => article(String(type)));
  const last = names.pop() ?? '';
  return names.length === 0 ? last : `${names.join(', ')} or ${last}`;
}

function article(type: string): string {
  const names: Readonly<Record<string, string>> = {
    integer: 'a whole number',
    number: 'a number',
    string: 'a text',
    boolean: 'true or false',
    object: 'an object',
    array: 'a list',
    null: 'null',
  };
  return names[type] ?? type;
}

/** `what` names the text in messages: input, output. Returns code 2 if the text is invalid or no JSON. */
export function evaluateJson(
  text: string,
  what: string,
  check: (value: unknown) => readonly SchemaProblem[],
): { readonly code: 0 | 2; readonly lines: readonly string[] } {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    const why = text.trim() === '' ? 'it is empty' : (error as Error).message;
    return { code: 2, lines: [`the ${what} is no JSON: ${why}`] };
  }
  const problems = check(value);
  if (problems.length === 0) return { code: 0, lines: [] };
  return { code: 2, lines: [`the ${what} cannot be used:`, ...problems.map(({ message }) => `  ${message}`)] };
}
