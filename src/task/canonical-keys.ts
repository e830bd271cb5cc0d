import { camelCase, nearestKey } from './nearest-key.ts';
import { type KeyProblem, keyPath, printableValue } from './problem.ts';
import { elementType, mappingShape } from './schema-walk.ts';

type Keys = readonly (string | number)[];

/**
 * The same settings under the schema's own keys: camelCase aliases renamed (snake_case wins), keys without a value and
 * unknown keys left out, each with a warning. What is not of the schema's form is passed on for the schema to judge.
 */
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
    const name = known.includes(key) ? key : known.find((candidate) => camelCase(candidate) === key);
    if (name === undefined) problems.push(unknown(key, item, known, at));
    else if (name !== key && Object.hasOwn(value, name)) problems.push(shadowed(key, name, item, at));
    else if (item === null) problems.push(empty(name, at));
    else renamed[name] = canonicalKeys(item, shape[name], problems, [...at, name]);
  }
  return renamed;
}

function unknown(key: string, value: unknown, known: string[], at: Keys): KeyProblem {
  const nearest = nearestKey(key, known);
  const hint =
    nearest === null
      ? ''
      : nearest.near
        ? ` Did you mean "${nearest.key}"?`
        : ` The nearest known key is "${nearest.key}".`;
  const keys = [...at, key];
  const message = `${keyPath(keys)} is not a known key and does nothing.${hint}`;
  return { keys, value: printableValue(value), rule: 'unknown-key', message, severity: 'warning' };
}

function shadowed(alias: string, name: string, value: unknown, at: Keys): KeyProblem {
  const keys = [...at, alias];
  const message = `${keyPath(keys)} does nothing, because ${keyPath([...at, name])} is set too and wins.`;
  return { keys, value: printableValue(value), rule: 'alias', message, severity: 'warning' };
}

function empty(name: string, at: Keys): KeyProblem {
  const keys = [...at, name];
  const hint = name === 'idle' ? ' To switch idle on with its defaults, write: idle: {}' : '';
  const message = `${keyPath(keys)} has no value and counts as left out.${hint}`;
  return { keys, value: null, rule: 'no-value', message, severity: 'warning' };
}
