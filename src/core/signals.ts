import type { Policy } from './schema/policy.ts';
import { visibleLines } from './visible-lines.ts';

export interface Signals {
  /** `claimed` where it counts, `misplaced` where it was seen but does not count. */
  readonly completion: 'claimed' | 'misplaced' | 'none';
  /** The last findings count of the message, or null. */
  readonly findings: number | null;
  /** Names of the state markers, in order, each once. */
  readonly states: readonly string[];
}

const STATE_MARKER = /<!--\s*ralph:state\s+([a-z][a-z0-9_-]*)\s*-->/g;
const FINDINGS = /^RALPH_ITERATION_COMPLETE: *(\d{1,9}) findings? remains?\b/;

/** What the agent says at the end of an iteration. Only the final message counts, and in it only visible lines. */
export function readSignals(text: string, policy: Pick<Policy, 'completion' | 'signalMatch'>): Signals {
  const wanted = completionText(policy.completion);
  let claimed = false;
  let findings: number | null = null;
  const states = new Set<string>();
  for (const line of visibleLines(text)) {
    for (const [, name = ''] of line.text.matchAll(STATE_MARKER)) states.add(name);
    const bare = bareLine(line.text);
    const remaining = FINDINGS.exec(bare)?.[1];
    if (remaining !== undefined) findings = Number(remaining);
    if (wanted === null) continue;
    if (bare === wanted || withoutPunctuation(bare) === wanted) claimed = true;
    if (policy.signalMatch === 'anywhere' && line.text.includes(wanted)) claimed = true;
  }
  const seen = wanted !== null && text.includes(wanted);
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

/** Takes off what Markdown puts around a line that stands alone: indentation, one list or heading mark, emphasis. */
function bareLine(line: string): string {
  const unmarked = line.trim().replace(/^(?:[-*+]|\d{1,9}[.)]|#{1,6})\s+/, '');
  const [, , inner = ''] = /^(\*{1,3}|_{1,3}|~~)?(.*?)\1?$/s.exec(unmarked.trim()) ?? [];
  return inner.trim();
}

function withoutPunctuation(line: string): string {
  const shorter = line.replace(/[.!]+$/, '').trimEnd();
  const [, , inner = ''] = /^(\*{1,3}|_{1,3}|~~)?(.*?)\1?$/s.exec(shorter) ?? [];
  return inner.trim();
}
