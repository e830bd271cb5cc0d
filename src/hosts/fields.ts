import { jsonOrNull } from '../text/json.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Parses one JSON object; null for any other text, such as a line that is being written. */
export function parseFields(text: string): Fields | null {
  const value = jsonOrNull(text);
  return isFields(value) ? value : null;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

export function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

/** Returns the texts of a list; empty for any other value. */
export function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Reads a count; 0 beyond exact integers: larger ones could become Infinity, which a state file cannot hold. */
export function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
}
