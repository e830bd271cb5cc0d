import type { SchemaProblem } from './schema-problems.ts';

export interface Judged {
  /** 0: it is as the schema says; 2: it is not, or is no JSON. */
  readonly code: 0 | 2;
  /** For standard error: one line for each problem; empty where there is none. */
  readonly lines: readonly string[];
}

/** Judges a JSON text. `what` names it in the messages: input, output. */
export function judgeJson(text: string, what: string, check: (value: unknown) => readonly SchemaProblem[]): Judged {
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
