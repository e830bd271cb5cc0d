import { lines } from '../../text/markdown/lines.ts';
import { oneLine } from '../../text/quote.ts';
import type { Policy } from '../schema/contract.ts';

export interface Signals {
  /** `claimed` if it counts, `misplaced` if it was found where it does not count. */
  readonly completion: 'claimed' | 'misplaced' | 'none';
  readonly findings: number | null;
  /** Names of the state markers, in order, each once. */
  readonly states: readonly string[];
  /** What the agent wrote where it meant to claim: another promise, or the right text without tags; absent if nothing. */
  readonly nearMiss?: string;
}

export const STATE_MARKER = /<!--\s*ralph:state\s+([a-z][a-z0-9_-]*)\s*-->/g;
const LIST_OR_HEADING = /^(?:[-*+]|\d{1,9}[.)]|#{1,6})\s+/;
const FINDINGS =
  /^[*_]{0,3}RALPH_ITERATION_COMPLETE[*_]{0,3}:[*_]{0,3} *[*_]{0,3}(\d{1,9})[*_]{0,3} findings? remains?(?![A-Za-z0-9])/;

const PROMISE = /<promise>([^<>`]*)<\/promise>/g;

/** Reads the signals at the end of an iteration. Only the final message counts, and in it only visible lines. */
export function readSignals(message: string, policy: Pick<Policy, 'completion' | 'signalMatch'>): Signals {
  const { completion } = policy;
  const wanted = completionText(completion);
  const promises = completion.kind === 'promise' && message.includes('<promise>');
  const text = promises
    ? message.replace(PROMISE, (_, inner: string) => `<promise>${oneLine(inner)}</promise>`)
    : message;
  const anywhere = policy.signalMatch === 'anywhere';
  // Most messages contain no signal: they need no regular expression.
  const mayFind = text.includes('RALPH_ITERATION_COMPLETE');
  if (!mayFind && !text.includes('ralph:state') && !promises && (wanted === null || !text.includes(wanted))) {
    const untagged = completion.kind === 'promise' ? untaggedPromise(text, completion.text) : undefined;
    return { completion: 'none', findings: null, states: [], ...(untagged !== undefined && { nearMiss: untagged }) };
  }
  const visible = visibleLines(text);
  let claimed = false;
  let findings: number | null = null;
  let other: string | undefined;
  for (const line of visible) {
    const whole = line.trim();
    const unmarked = whole.replace(LIST_OR_HEADING, '');
    const remaining = mayFind ? FINDINGS.exec(unmarked)?.[1] : undefined;
    if (remaining !== undefined) findings = Number(remaining);
    if (wanted === null) continue;
    if (promises) other = whole.match(PROMISE)?.at(-1) ?? other;
    // The whole line is compared as well: a custom signal may itself begin with a mark.
    if (standsAlone(whole, wanted) || standsAlone(unmarked, wanted)) claimed = true;
    if (anywhere && line.includes(wanted)) claimed = true;
  }
  const seen = wanted !== null && text.includes(wanted);
  const states = new Set([...visible.join('\n').matchAll(STATE_MARKER)].map(([, name = '']) => name));
  const found = {
    completion: claimed ? 'claimed' : seen ? 'misplaced' : 'none',
    findings,
    states: [...states],
  } as const;
  const nearMiss = other ?? (completion.kind === 'promise' ? untaggedPromise(text, completion.text) : undefined);
  return seen || nearMiss === undefined ? found : { ...found, nearMiss };
}

/** Maximum number of characters, such as tags and Markdown marks, around the text of a promise in its line. */
const AROUND = 100;
const TAG = /<\/?[a-z][\w:-]{0,30}>?|\[\/?[a-z]{1,30}\]|\bpromise\s{0,3}[:=]/gi;
const MARKS = /^[\s>*_`~#"'-]{1,100}|[\s*_`~"'.!]{1,100}$/g;

/** Returns a line, in code as well, that holds only the text of the promise, bare or in other tags. */
function untaggedPromise(message: string, promise: string): string | undefined {
  const wanted = oneLine(promise).replace(MARKS, '');
  if (!message.toLowerCase().includes(wanted.toLowerCase())) return undefined;
  return message
    .split('\n')
    .find((line) => {
      if (line.length > wanted.length + AROUND) return false;
      const untagged = line.replace(TAG, ' ');
      const bare = oneLine(untagged).replace(MARKS, '');
      // Text in tags is meant as a promise, whatever its case.
      return bare === wanted || (untagged !== line && bare.toLowerCase() === wanted.toLowerCase());
    })
    ?.trim();
}

/** Returns the exact text that claims completion; null for a loop without one. */
export function completionText(completion: Policy['completion']): string | null {
  switch (completion.kind) {
    case 'signal':
      return completion.text;
    case 'promise':
      return `<promise>${oneLine(completion.text)}</promise>`;
    case 'none':
      return null;
    default:
      return completion satisfies never;
  }
}

/** Returns whether a signal is surrounded only by emphasis (with matching marks) and a final `.` or `!`. */
function standsAlone(line: string, wanted: string): boolean {
  const start = line.indexOf(wanted);
  const before = line.slice(0, Math.max(0, start)).trimEnd();
  if (start === -1 || !/^[*_]{0,3}$/.test(before)) return false;
  let closing = '';
  for (const [mark] of line.slice(start + wanted.length).matchAll(/[^.!\s]/g)) {
    closing += mark;
    if (closing.length > before.length) return false;
  }
  return closing === '' || closing === [...before].reverse().join('');
}

/** Indentation from which a line is code, or looks like code in a list. */
const DEEP = 4;
const BLANKED = '\uFFFC';

/**
 * Returns the lines in which a signal can count: outside fences, indented code and block quotes. Each piece of inline code is
 * replaced by one character that no text contains.
 */
export function visibleLines(text: string): string[] {
  return [...lines(text)].flatMap(({ raw, column, inFence, inQuote }) =>
    raw === '' || inFence || inQuote || column >= DEEP ? [] : [blankInlineCode(raw)],
  );
}

function blankInlineCode(line: string): string {
  if (!line.includes('`')) return line;
  const parts = line.split(/(`+)/);
  // A run of backticks without a closing run of its length is text. Searching for each would take quadratic time.
  const last = new Map(parts.map((part, index) => [part, index]));
  let shown = '';
  let hidden = -1;
  for (const [index, part] of parts.entries()) {
    if (index <= hidden) continue;
    const opens = part.startsWith('`') && last.get(part) !== index;
    if (opens) hidden = parts.indexOf(part, index + 1);
    shown += opens ? BLANKED : part;
  }
  return shown;
}

export function signalProblem(text: string): string | null {
  return oneLineProblem(text) ?? countsProblem({ kind: 'signal', text });
}

export function promiseProblem(text: string): string | null {
  if (/[<>]/.test(text)) return 'must have no angle brackets';
  return oneLineProblem(text) ?? countsProblem({ kind: 'promise', text });
}

function oneLineProblem(text: string): string | null {
  if (text.trim() === '') return 'must not be empty';
  if (/[\n\r\u0085\u2028\u2029]/.test(text)) return 'must be one line';
  return text === text.trim() ? null : 'must not begin or end with white space';
}

/** Returns why a completion text cannot be claimed: Markdown would change it (`# DONE`, text in backticks); or null. */
function countsProblem(completion: Exclude<Policy['completion'], { kind: 'none' }>): string | null {
  const line = completion.kind === 'signal' ? completion.text : `<promise>${completion.text}</promise>`;
  return readSignals(line, { completion, signalMatch: 'line' }).completion === 'claimed'
    ? null
    : 'must be plain text: with Markdown marks around it, it could never count on a line of its own';
}
