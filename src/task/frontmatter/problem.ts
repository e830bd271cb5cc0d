/** One thing that is wrong with a task file or a setting, in the shape that `check --json` prints. */
export interface Problem {
  /** The key's whole path, such as `validation[0].timeout`; '' for the file as a whole. */
  readonly path: string;
  /** Place in the file, from 1; null for a value that stands in none. */
  readonly line: number | null;
  readonly column: number | null;
  /** The value found; null where there is none. */
  readonly value: unknown;
  /** A stable name of the rule. */
  readonly rule: string;
  readonly message: string;
  readonly severity: 'error' | 'warning';
}

/** The same before its place in a file is known. */
export interface KeyProblem extends Omit<Problem, 'path' | 'line' | 'column'> {
  readonly keys: readonly (string | number)[];
}

export function keyPath(keys: readonly (string | number)[]): string {
  return keys.reduce<string>(
    (path, key) => (typeof key === 'number' ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`),
    '',
  );
}

/** What stands for a value that no text can show: an anchor that holds itself. */
const UNSHOWN = 'a value that holds itself';

/** A value as a message quotes it: JSON, bounded. */
export function shownValue(value: unknown): string {
  const text = jsonOf(value);
  if (text === null) return UNSHOWN;
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

/** A value that can be printed as JSON and is not larger than a problem deserves. */
export function printableValue(value: unknown): unknown {
  if (value === undefined) return null;
  const shown = shownValue(value);
  return shown.endsWith('…') || shown === UNSHOWN ? shown : value;
}

function jsonOf(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return null;
  }
}
