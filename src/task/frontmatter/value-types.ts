import * as z from 'zod';
import { compilePattern } from '../../text/pattern.ts';
import { formatDuration, parseDuration, parseSeconds } from '../../text/time.ts';

/** Types of frontmatter values. Each message states the rule and follows the key's path. */

export function integer(least: number, most?: number) {
  return bounded('an integer', z.int, least, most);
}

export function numberFrom(least: number, most?: number) {
  return bounded('a number', z.number, least, most);
}

function bounded(what: string, of: typeof z.int | typeof z.number, least: number, most?: number) {
  const error = `must be ${what} ${most === undefined ? `of at least ${least}` : `from ${least} to ${most}`}`;
  const open = of({ error }).min(least, { error });
  return most === undefined ? open : open.max(most, { error });
}

/** Adds a description for editors and keywords of the published JSON Schema. */
export function described<T extends z.ZodType>(
  type: T,
  description: string,
  keywords: Record<string, unknown> = {},
): T {
  return type.meta({ description, ...keywords });
}

export function optional<T extends z.ZodType>(type: T, description: string, keywords?: Record<string, unknown>) {
  return described(type.optional(), description, keywords);
}

export function mapping<T extends z.ZodRawShape>(shape: T) {
  return z.strictObject(shape, { error: `must be a mapping with ${Object.keys(shape).join(', ')}` });
}

function duration(allowed: 'positive' | 'zero-too') {
  const error = 'must be a duration such as 30s, 5m or 1h30m (a bare number is seconds)';
  return z
    .union([z.string(), z.number()], { error })
    .refine((value) => parseDuration(String(value)) !== null, { error, params: { rule: 'duration' }, abort: true })
    .refine((value) => allowed === 'zero-too' || parseDuration(String(value)) !== 0, {
      error: 'must be longer than 0',
      params: { rule: 'range' },
    })
    .transform((value) => parseDuration(String(value)) ?? 0);
}

const DURATION = '^\\d[\\d.dhms ]*$';

export function durationKey(allowed: 'positive' | 'zero-too', description: string) {
  return optional(duration(allowed), description, { pattern: DURATION });
}

/** A duration in whole seconds, between `least` and `most` (null: no upper limit). */
export function secondsKey(least: number, most: number | null, description: string) {
  const range = most === null ? `of at least ${least}s` : `from ${least}s to ${formatDuration(most * 1000)}`;
  const error = `must be a duration ${range} in whole seconds, such as 90, 30s or 5m (a bare number is seconds)`;
  const limits = { minimum: least, ...(most !== null && { maximum: most }), multipleOf: 1 };
  const seconds = z
    .union([z.string(), z.number()], { error })
    .refine((value) => Number.isInteger(parseSeconds(value)), { error, params: { rule: 'duration' }, abort: true })
    .refine((value) => isWithin(parseSeconds(value), least, most), { error, params: { rule: 'range' } })
    .transform((value) => parseSeconds(value) ?? least);
  return optional(seconds, description, { pattern: DURATION, ...limits });
}

function isWithin(value: number | null, least: number, most: number | null): boolean {
  return value !== null && value >= least && (most === null || value <= most);
}

export function flag() {
  return z.boolean({ error: 'must be true or false' });
}

export function choice<const T extends readonly [string, ...string[]]>(...options: T) {
  return z.enum(options, { error: `must be one of ${options.join(', ')}` });
}

export function line() {
  return ruledText('must be a single line of text', 'one-line', (text) =>
    text.trim() === '' ? 'must not be blank' : /[\n\r]/.test(text) ? 'must be one line' : null,
  );
}

export function ruledText(what: string, rule: string, problem: (text: string) => string | null) {
  return z.string({ error: what }).check((context) => {
    const message = problem(context.value);
    if (message !== null) context.issues.push({ code: 'custom', message, params: { rule }, input: context.value });
  });
}

export function list<T extends z.ZodType>(of: T, what: string) {
  return z.array(of, { error: `must be a list of ${what}` });
}

const MAX_PATTERN_LENGTH = 1000;

/** Returns null for a pattern that RE2 and JavaScript interpret alike, else its problem. */
export function patternProblem(pattern: string): string | null {
  if (pattern.trim() === '') return 'must not be blank';
  if (pattern.length > MAX_PATTERN_LENGTH) return `must have at most ${MAX_PATTERN_LENGTH} characters`;
  try {
    compilePattern(pattern);
    return null;
  } catch (error) {
    const reason = (error as Error).message.replace(/^Invalid regular expression: /, '');
    return `must be a pattern that RE2 and JavaScript interpret alike (${reason})`;
  }
}
