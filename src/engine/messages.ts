import { formatDuration } from '../text/duration.ts';
import { shorten } from '../text/excerpt.ts';
import type { CheckResult } from './events.ts';
import type { BreakerSignal, Trip } from './policy/breaker.ts';
import type { LoopState } from './schema/state.ts';

/**
 * What the engine says to people and to the agent, in one place: what happened, where, what to do next.
 */
const SIGNAL_NAMES: Record<BreakerSignal, string> = {
  findings: 'findings',
  noProgress: 'no-progress',
  sameReply: 'same-reply',
  sameError: 'same-error',
  denials: 'denials',
  tdd: 'tdd',
};

/** Of an error in a message: it can quote a whole page. */
const ERROR_LIMIT = 500;

export function signalName(signal: BreakerSignal): string {
  return SIGNAL_NAMES[signal];
}

/** `open`: items of a checklist that are not checked, where the agent said that it is done all the same. */
export function completeText(checks: number, iteration: number, open = 0): string {
  const left = open === 0 ? '' : ` with ${open === 1 ? '1 item' : `${open} items`} of the checklist still open`;
  return checks > 0
    ? `complete after ${iterations(iteration)}${left}, verified by ${checks === 1 ? '1 check' : `${checks} checks`}.`
    : `complete after ${iterations(iteration)}${left} (verified: false, because nothing had to be checked). Add "validation:" commands to the task file's frontmatter, or "completion_gate: required" to a task folder's, to have a claim verified.`;
}

/** `unknown` is of how many nobody could tell whether they changed something. */
export function maxIterationsText(iteration: number, as: string, unknown = 0): string {
  const doubt = unknown > 0 ? ` (progress unknown in ${unknown})` : '';
  return `stopped after ${iterations(iteration)}, the limit (${as}), without completion${doubt}. Grant more: main.cjs start --resume --max-iterations N.`;
}

export function timedOutText(iteration: number, limitMs: number | null): string {
  return `stopped, because time ran out in iteration ${iteration}${limitText(limitMs)}. Go on: main.cjs start --resume.`;
}

export function failedText(iteration: number, error: string): string {
  return `stopped, because iteration ${iteration} failed: ${shorten(error, ERROR_LIMIT)}. Go on: main.cjs start --resume.`;
}

/** For the next prompt of a loop that goes on. */
export function timeIsUpText(limitMs: number | null): string {
  return `Time ran out in your last iteration${limitText(limitMs)}. Do less in one iteration, and end your message earlier.`;
}

export function struggleText(failed: number): string {
  return `${failed} shell commands failed in your last iteration. Find out why, and change the approach instead of trying again.`;
}

function limitText(milliseconds: number | null): string {
  return milliseconds === null ? '' : ` (timeout: ${formatDuration(milliseconds)})`;
}

export function tripText(trip: Trip): string {
  return `stopped by the circuit breaker, signal ${signalName(trip.signal)}: ${trip.evidence}. Go on with the breaker closed: main.cjs start --resume.`;
}

export function budgetText(name: string, reading: string): string {
  return `stopped because the budget ${name} is used up: ${reading}.`;
}

export function budgetWarningText(name: string, reading: string): string {
  return `budget ${name}: ${reading} used.`;
}

export function idleLimitText(idleMs: number, limitMs: number): string {
  return `stopped after being idle for ${formatDuration(idleMs)} (idle.max is ${formatDuration(limitMs)}).`;
}

export function stoppedText({ iteration, stopFlag }: Pick<LoopState, 'iteration' | 'stopFlag'>): string {
  return `stopped by ${stopFlag ? 'the file stop.flag' : 'the user'} after ${iterations(iteration)}.`;
}

export function cancelledText(iteration: number, flag: boolean): string {
  return `cancelled by ${flag ? 'the file cancel.flag' : 'the user'} after ${iterations(iteration)}. Nothing was deleted: main.cjs archive shows where it lies.`;
}

/** In another terminal: the client runs `!command` as it runs the agent's, and control commands refuse there. */
function resumable(text: string): string {
  return `${text} To go on: main.cjs resume in another terminal, then send any message in the session.`;
}

// Pure to the bundler, so that a hook which says neither carries neither.
export const PAUSED_BY_USER = /* @__PURE__ */ resumable('paused by the user.');
export const PAUSED_INTERRUPTED = /* @__PURE__ */ resumable('paused, because it was interrupted.');
export const CLIENT_ENDED =
  'interrupted: the client ended while the loop was live. Go on with: main.cjs start --resume --launch (the launcher: ralph-audit.sh --resume).';

export function misplacedText(wanted: string): string {
  return `Your last message contained ${wanted} inside other text, where it does not count. To claim completion, put it alone on a line of your final message, outside code and quotes.`;
}

export const OVERRIDDEN_TEXT =
  'the client overrode a block of the Stop hook (its cap on consecutive blocks). Set CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 in the environment that starts claude; the launcher does so by itself.';

export function iterations(count: number): string {
  return count === 1 ? '1 iteration' : `${count} iterations`;
}

/** Maximum length of the reason of a failed check: a whole test run would fill the state and the prompt. */
const REASON_LIMIT = 2_000;

export function reasonText({ name, outcome, detail }: CheckResult): string {
  return `${name}: ${outcome === 'failed' ? '' : `${outcome}: `}${shorten(detail, REASON_LIMIT)}`;
}

/** A message of an end as a line shows it: behind its status, unless it begins with that itself, as most do. */
export function withStatus(status: string, message: string): string {
  return message.startsWith(status) ? message : `${status}: ${message}`;
}

/** `$0.12`; below a cent as exact as the client says it: `$0.0008`. */
export function dollarText(amount: number): string {
  return `$${amount.toFixed(amount > 0 && amount < 0.01 ? 4 : 2)}`;
}
