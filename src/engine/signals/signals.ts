import { visibleLines } from '../../text/markdown/visible-lines.ts';
import type { Policy } from '../schema/policy.ts';

export interface Signals {
  /** `claimed` where it counts, `misplaced` where it was seen but does not count. */
  readonly completion: 'claimed' | 'misplaced' | 'none';
  /** The last findings count of the message, or null. */
  readonly findings: number | null;
  /** Names of the state markers, in order, each once. */
  readonly states: readonly string[];
}

const STATE_MARKER = /<!--\s*ralph:state\s+([a-z][a-z0-9_-]*)\s*-->/g;
const LIST_OR_HEADING = /^(?:[-*+]|\d{1,9}[.)]|#{1,6})\s+/;
const FINDINGS =
  /^[*_]{0,3}RALPH_ITERATION_COMPLETE[*_]{0,3}:[*_]{0,3} *[*_]{0,3}(\d{1,9})[*_]{0,3} findings? remains?(?![A-Za-z0-9])/;

/** What the agent says at the end of an iteration. Only the final message counts, and in it only visible lines. */
export function readSignals(text: string, policy: Pick<Policy, 'completion' | 'signalMatch'>): Signals {
  const wanted = completionText(policy.completion);
  const anywhere = policy.signalMatch === 'anywhere';
  // Most messages hold no signal at all: they pay for no regular expression.
  const some = text.includes('ralph:state') || text.includes('RALPH_ITERATION_COMPLETE');
  if (!some && (wanted === null || !text.includes(wanted))) return { completion: 'none', findings: null, states: [] };
  const lines = visibleLines(text).map((line) => line.text);
  let claimed = false;
  let findings: number | null = null;
  for (const line of lines) {
    const whole = line.trim();
    const unmarked = whole.replace(LIST_OR_HEADING, '');
    const remaining = FINDINGS.exec(unmarked)?.[1];
    if (remaining !== undefined) findings = Number(remaining);
    if (wanted === null) continue;
    // The whole line as well: a signal of somebody's own may begin with a mark itself.
    if (standsAlone(whole, wanted) || standsAlone(unmarked, wanted)) claimed = true;
    if (anywhere && line.includes(wanted)) claimed = true;
  }
  const seen = wanted !== null && text.includes(wanted);
  const states = new Set([...lines.join('\n').matchAll(STATE_MARKER)].map(([, name = '']) => name));
  return { completion: claimed ? 'claimed' : seen ? 'misplaced' : 'none', findings, states: [...states] };
}

/** The exact text that claims completion, or null for a loop that has none. */
export function completionText(completion: Policy['completion']): string | null {
  switch (completion.kind) {
    case 'signal':
      return completion.text;
    case 'promise':
      return `<promise>${completion.text}</promise>`;
    case 'none':
      return null;
    default:
      return completion satisfies never;
  }
}

/** Whether nothing is around the signal but emphasis (closed by the marks that opened it) and a final `.` or `!`. */
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
