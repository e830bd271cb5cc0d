import type { Policy } from '../core/schema/policy.ts';
import { readSignals } from '../core/signals.ts';

/** null when this completion signal can be given, else what is wrong with it. */
export function signalProblem(text: string): string | null {
  return oneLineProblem(text) ?? countsProblem({ kind: 'signal', text });
}

/** null when this completion promise can be given, else what is wrong with it. */
export function promiseProblem(text: string): string | null {
  if (/[<>]/.test(text)) return 'must have no angle brackets';
  return oneLineProblem(text) ?? countsProblem({ kind: 'promise', text });
}

function oneLineProblem(text: string): string | null {
  if (text.trim() === '') return 'must not be empty';
  if (/[\n\r\u0085\u2028\u2029]/.test(text)) return 'must be one line';
  return text === text.trim() ? null : 'must not begin or end with white space';
}

/** A claim that Markdown turns into something else (`# DONE`, a text in backticks) could never be seen. */
function countsProblem(completion: Exclude<Policy['completion'], { kind: 'none' }>): string | null {
  const line = completion.kind === 'signal' ? completion.text : `<promise>${completion.text}</promise>`;
  return readSignals(line, { completion, signalMatch: 'line' }).completion === 'claimed'
    ? null
    : 'must be plain text: with Markdown marks around it, it could never count on a line of its own';
}
