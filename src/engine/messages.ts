import { counted } from '../text/figures.ts';
import { advise, type LoopMode, type Message, type MessageContext, render } from '../text/message.ts';
import { asSentence, excerpt, firstLine, oneLine, shorten } from '../text/quote.ts';
import { formatDuration, localTime } from '../text/time.ts';
import type { ApiError, BudgetReading, CheckResult } from './events.ts';
import type { BreakerSignal, Trip } from './policy/breaker.ts';
import { MOST_ITERATIONS } from './policy/budget.ts';
import type { ProofFacts } from './policy/proof.ts';
import { missingTestsText, proofText, unprovedText } from './proof-texts.ts';
import type { Policy } from './schema/contract.ts';
import type { Proof } from './schema/proof.ts';
import type { LoopState, PauseReason, UsageWindow } from './schema/state.ts';

const SIGNAL_NAMES: Record<BreakerSignal, string> = {
  findings: 'findings',
  noProgress: 'no progress',
  sameReply: 'same reply',
  sameError: 'same error',
  denials: 'denials',
  tdd: 'tdd',
};

const ERROR_LIMIT = 500;

export function signalName(signal: BreakerSignal): string {
  return SIGNAL_NAMES[signal];
}

/** Status of a paused loop, for people: `paused by you`, `paused (rate limited)`. `isFinishing`: its agent still works. */
export function pausedText(reason: string, isFinishing = false): string {
  if (isFinishing) return 'paused by you; the agent finishes its turn';
  return reason === 'operator' ? 'paused by you' : `paused (${reason.replaceAll('-', ' ')})`;
}

export function completeText(proof: Proof, facts: ProofFacts, iteration: number): string {
  const end = `Complete after ${iterations(iteration)}`;
  const missing = missingTestsText(facts);
  const verdict =
    proof === 'none'
      ? `${end}, unverified: ${unprovedText(facts)}`
      : `${end}, verified by ${counted(facts.results.length, 'check')}. ${proofText(proof, facts)}`;
  return missing === null ? verdict : `${verdict} ${missing}`;
}

/** Says that the iterations are used up, and how to continue: with as many again, or in a new loop at the largest limit. */
export function usedUpText(text: string, iteration: number, { pace }: Pick<Policy, 'pace'>): Message {
  // Progress is measured only in a task folder.
  const most = pace.tracksProgress ? MOST_ITERATIONS.folder : MOST_ITERATIONS.other;
  return iteration < most
    ? advise(text, 'Grant more', 'resume', { 'max-iterations': String(Math.min(2 * iteration, most)) })
    : advise(`${text} No larger limit is allowed.`, 'Start over', 'restart');
}

/** Returns the message of the iteration limit. `unknown`: number of iterations whose progress could not be measured. */
export function maxIterationsText(iteration: number, as: string, policy: Pick<Policy, 'pace'>, unknown = 0): Message {
  const doubt = unknown > 0 ? ` (progress unknown in ${unknown})` : '';
  const none = as === 'no-progress-exhaustion' ? ' and without confirmed progress' : '';
  const text = `Stopped after ${iterations(iteration)}, the limit, without completion${none}${doubt}.`;
  return usedUpText(text, iteration, policy);
}

export function timedOutText(iteration: number, limitMs: number | null): Message {
  const limit = limitMs === null ? '' : ` after ${formatDuration(limitMs)}`;
  return advise(`Stopped: iteration ${iteration} timed out${limit}.`, 'Resume', 'resume');
}

export function failedText(iteration: number, error: string): Message {
  return advise(
    `Stopped: iteration ${iteration} failed: ${shorten(error.replace(/\.$/, ''), ERROR_LIMIT)}.`,
    'Resume',
    'resume',
  );
}

export function timeIsUpText(limitMs: number | null): string {
  const limit = limitMs === null ? '' : ` (timeout: ${formatDuration(limitMs)})`;
  return `Your last iteration timed out${limit}. Do less in one iteration and end your message earlier.`;
}

export function struggleText(failed: number): string {
  return `${failed} shell commands failed in your last iteration. Find the cause and change the approach instead of retrying.`;
}

export function tripText(trip: Trip): Message {
  return advise(
    asSentence(`Stopped by the circuit breaker (${signalName(trip.signal)}): ${trip.evidence}`),
    'Change the task, or try again',
    'resume',
  );
}

export function budgetText({ name, text, more }: BudgetReading, cut = ''): Message {
  return advise(`Stopped: the budget ${name} is exhausted: ${text}.${cut}`, 'Grant more', 'resume', moreOf(name, more));
}

/** Returns the option that raises this limit. */
export function moreOf(name: BudgetReading['name'], more: string): Readonly<Record<string, string>> {
  return { [name.replace('_', '-')]: more };
}

/** Says what the checks show at the end of a loop without a claim; `failed` is the first that failed. */
export function unclaimedText(failed: CheckResult | undefined): string {
  if (failed === undefined) return 'The checks pass now, but the agent did not say that it was done.';
  return `A check fails: ${asSentence(firstLine(reasonText(failed)))}`;
}

export const CHECKS_CUT = ' The checks of the last claim were cut short.';

/** Advises to resume the run of all these loops: one that is resumed alone has no share in the budget. */
export function sharedBudgetText(reading: string, more: Readonly<Record<string, string>>): Message {
  const text = `Stopped: the shared budget of these loops is exhausted: ${reading}.`;
  return advise(text, 'Grant more to all of them', 'run --resume', more);
}

export const UNKNOWN_COST = advise(
  'Stopped: the cost of an agent run is unknown, so the budget max_cost cannot be enforced.',
  'Continue without that cost',
  'resume',
);

const WINDOWS: Record<UsageWindow['name'], string> = { five_hour: 'five-hour', seven_day: 'seven-day' };

export function windowText({ name, used }: UsageWindow): Message {
  const share = `${Math.floor(used * 100)} % of the ${WINDOWS[name]} limit is used`;
  return advise(`Paused: ${share} (budget.stop_at). The loop continues when it resets.`, 'Continue now', 'resume');
}

export function budgetWarningText(name: string, reading: string): string {
  return `Budget ${name}: ${reading} used.`;
}

export function idleLimitText(idleMs: number, limitMs: number): string {
  const beyond = idleMs > limitMs ? ', the last iteration included' : '';
  return `Stopped after being idle for ${formatDuration(idleMs)}${beyond} (idle.max is ${formatDuration(limitMs)}).`;
}

export function stoppedText({ iteration, stopFlag }: Pick<LoopState, 'iteration' | 'stopFlag'>): string {
  return `Stopped by ${stopFlag ? 'the file stop.flag' : 'the user'} after ${iterations(iteration)}.`;
}

/** Returns the message of a cancel. `inProgress`: the agent was working on the next iteration. */
export function cancelledText(iteration: number, flag: boolean, inProgress: boolean): Message {
  const by = flag ? 'the file cancel.flag' : 'the user';
  const when = inProgress ? `during iteration ${iteration + 1}` : `after ${iterations(iteration)}`;
  return advise(`Cancelled by ${by} ${when}. Nothing was deleted.`, 'Show the archive', 'archive');
}

export function acceptedText(changes: string): string {
  return `The contract of this loop was changed by ralph-loop accept: ${changes}`;
}

/** In another terminal: control commands refuse in the client's own shell (`!command`). */
const ELSEWHERE = ' in another terminal, then send any message in the session';

export const PAUSED_BY_USER = resumable('Paused by the user.', ELSEWHERE);
export const PAUSED_INTERRUPTED = resumable('Paused: the turn was interrupted.', ELSEWHERE);
export const PAUSED_BY_PLANNING = resumable('Paused: the session is in plan mode. Leave it (shift+tab).', ELSEWHERE);
const MOST_COMMAND = 80;

/** Says which background work holds up the end of a turn; null stands for work other than a shell command. */
export function backgroundText(commands: readonly (string | null)[], waitMs: number, isProlonged: boolean): string {
  const named = commands.map((command) =>
    command === null ? 'a subagent or other task' : excerpt(oneLine(command), MOST_COMMAND),
  );
  const limit = `at most ${formatDuration(waitMs)}${isProlonged ? ', or longer while it changes the project' : ''}`;
  return `Waiting for background work of the agent, ${limit}: ${[...new Set(named)].join(', ')}`;
}

export function sleptText(milliseconds: number): string {
  return `The loop did not run for ${formatDuration(milliseconds)}, because the machine slept or the process was stopped; max_time does not count this time.`;
}

export const CLIENT_ENDED: Message = advise(
  'Interrupted: the client exited while the loop was live.',
  'Resume',
  'resume',
);

function resumable(text: string, inSession = ', then send any message in the session'): Message {
  return { text, advice: [{ verb: 'Resume', inSession, command: 'resume' }] };
}

export const AWAITING_CONSENT: Message = advise('This loop awaits your consent.', 'Agree', 'consent');

export function apiErrorText({ kind, message, resetsAt, login = '/login' }: ApiError, mode: LoopMode): Message {
  const said = message.replace(/\.$/, '');
  switch (kind) {
    case 'rate-limited': {
      const until = resetsAt === null ? '; the client did not report when it resets' : ` until ${localTime(resetsAt)}`;
      const text = `Paused by a rate limit${until}.`;
      if (mode === 'runner') return { text };
      return resetsAt === null
        ? resumable(text)
        : { text: `${text} After that, send any message in the session to continue.` };
    }
    case 'authentication':
      return resumable(`Paused: the API refused the credentials (${said}). Log in again (${login}).`);
    case 'billing':
      return resumable(`Paused: the API refused for billing reasons (${said}). Fix the billing problem.`);
    case 'invalid-request':
    case 'overloaded':
    case 'other':
      return resumable(`Paused by an API error (${kind}: ${said}).`);
    default:
      return kind satisfies never;
  }
}

/** Returns a message that names the failed checks; only the user can adopt a changed script. */
export function rejectedText(failed: readonly CheckResult[]): Message {
  const names = (of: readonly CheckResult[]): string => of.map(({ name }) => name).join(', ');
  const changed = failed.filter(({ outcome }) => outcome === 'changed');
  const text = `Completion rejected: ${names(failed)}.`;
  if (changed.length === 0) return { text };
  return advise(
    `${text} Not run because a script changed during the loop: ${names(changed)}.`,
    'Review the change, then adopt it',
    'accept',
  );
}

export function misplacedText(wanted: string): string {
  return `The last message contained ${wanted} inside other text, where it does not count. To claim completion, put it alone on a line of the final message, outside code and quotes.`;
}

export function nearMissText(given: string, wanted: string): string {
  return `The last message contained ${excerpt(given, 120)}, which does not count. To claim completion, write ${wanted} exactly, alone on a line.`;
}

export const OVERRIDDEN_TEXT =
  'The client ended the turn despite the Stop hook (its cap on consecutive blocks). Set CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 in the environment that starts claude; the launcher does this.';

const BROKEN_OFF: ReadonlySet<PauseReason> = new Set(['interrupted', 'rate-limited', 'api-error']);

/** Returns the number of the iteration in progress, or of the last one. An iteration interrupted by a pause keeps its number. */
export function currentIteration(state: LoopState): number {
  const { status, iteration, turn } = state;
  const isOpen = status === 'paused' ? turn === 'agent' || BROKEN_OFF.has(state.paused.reason) : status === 'running';
  return Math.min(isOpen ? iteration + 1 : iteration, state.maxIterations);
}

export function iterations(count: number): string {
  return counted(count, 'iteration');
}

const REASON_LIMIT = 2_000;
const OUTPUT_LINES = 15;

/** Returns a reason: the failure in the first line, then the output, whose end matters most. */
export function reasonText({ name, outcome, detail }: CheckResult): string {
  return `${name}: ${outcome === 'failed' ? '' : `${outcome}: `}${shorten(detail, REASON_LIMIT, 0.25)}`;
}

/** Returns the lines about failed checks for people. Where failed tests are named, the output is only counted. */
export function failureLines(failed: readonly CheckResult[], loop: MessageContext): string[] {
  return failed.flatMap((result) => {
    const isNamed = (result.tests?.failures.length ?? 0) > 0;
    return reasonLines(reasonText(result), { most: isNamed ? 0 : OUTPUT_LINES, loop });
  });
}

export interface ShownReason {
  /** Maximum number of lines of output; by default what fits beside other text. */
  readonly most?: number;
  /** Loop whose log has the omitted lines; without it they are only counted. */
  readonly loop?: MessageContext;
  readonly indent?: string;
}

/** Returns a reason as lines for people, with the last lines of the output indented below it. */
export function reasonLines(reason: string, { most = OUTPUT_LINES, loop, indent = '  ' }: ShownReason = {}): string[] {
  const [head, ...output] = reason.trimEnd().split('\n');
  const hidden = Math.max(0, output.length - most);
  const left = counted(hidden, 'more line');
  const mark = loop === undefined ? left : render(advise('', `Show ${left}`, 'logs'), loop);
  return [
    `${indent}${head}`,
    ...(hidden > 0 ? [`${indent}  [${mark}]`] : []),
    ...output.slice(hidden).map((line) => `${indent}  ${line}`),
  ];
}
