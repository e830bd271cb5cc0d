import { excerpt } from '../../text/quote.ts';
/** Problem of a task file or setting, as `check --json` prints it. */
export interface Problem {
  /** Path of the key, such as `validation[0].timeout`; '' for the whole file. */
  readonly path: string;
  /** Line in the file, from 1; null if there is none. */
  readonly line: number | null;
  readonly column: number | null;
  readonly value: unknown;
  readonly rule: string;
  readonly message: string;
  readonly severity: 'error' | 'warning';
}

export interface KeyProblem extends Omit<Problem, 'path' | 'line' | 'column'> {
  readonly keys: readonly (string | number)[];
}

/** Returns the problem of a value that is in no line of a task file. */
export function withoutPlace({ keys, ...problem }: KeyProblem, message = problem.message): Problem {
  return { ...problem, path: keyPath(keys), line: null, column: null, message };
}

export function keyPath(keys: readonly (string | number)[]): string {
  return keys.reduce<string>(
    (path, key) => (typeof key === 'number' ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`),
    '',
  );
}

const UNSHOWN = 'a value that holds itself';

export function shownValue(value: unknown): string {
  return excerpt(typeof value === 'number' ? String(value) : jsonOf(value), 120);
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch (error) {
    // The value refers to itself or is nested too deeply.
    if (error instanceof TypeError || error instanceof RangeError) return UNSHOWN;
    throw error;
  }
}

export function printableValue(value: unknown): unknown {
  if (value === undefined) return null;
  const shown = shownValue(value);
  return shown.endsWith('…') || shown === UNSHOWN ? shown : value;
}
