import type { ApiError } from '../../engine/events.ts';
import { programName } from '../../state/process/program.ts';
import { asSentence, shorten } from '../../text/quote.ts';
import { redact } from '../../text/redact/redact.ts';
import type { AgentResult, RunFacts } from './agent-message.ts';

export interface RunExit {
  readonly code: number | null;
  readonly signal: string | null;
  readonly endedBy: EndedBy | null;
  readonly startError: string | null;
}

/**
 * `interrupt`: the user's request. `silence`: maximum silence exceeded. `time`: iteration timeout. `budget`: the rest of
 * the loop's budget was used. `lingering`: the turn was over but its background work never ended. `unguarded`: tools ran
 * without this program's hooks. `login`: credentials were refused repeatedly.
 */
export type EndedBy = 'interrupt' | 'silence' | 'time' | 'budget' | 'lingering' | 'unguarded' | 'login';

export type RunOutcome =
  | { readonly kind: 'ok'; readonly message: string }
  | { readonly kind: 'rate-limited'; readonly resetsAt: string | null; readonly message: string }
  | { readonly kind: 'crashed'; readonly code: number | null; readonly signal: string | null; readonly message: string }
  | {
      readonly kind:
        | 'interrupted'
        | 'authentication'
        | 'billing'
        | 'invalid-request'
        | 'overloaded'
        | 'refusal'
        | 'max-turns'
        | 'prompt-too-long'
        | 'hung'
        | 'out-of-time'
        | 'over-budget'
        | 'unguarded'
        | 'options'
        | 'other';
      readonly message: string;
    };

const QUOTE = 300;

/** Returns the beginning of what an agent said. Secrets are masked first: half of one has no recognisable form. */
const quoted = (text: string): string => shorten(redact(text), QUOTE);

/** Returns the outcome of a client that refused to begin, which a retry would not change. */
export function refusedStart(title: string, complaint: string): RunOutcome {
  const said = shorten(complaint.replace(/^error:? /i, ''), QUOTE);
  return { kind: 'options', message: asSentence(`${title} refused to start: ${said}`) };
}

/** Exit codes by which a shell reports SIGINT and SIGTERM. */
const SIGNAL_CODES: readonly (number | null)[] = [130, 143];

/** Classifies a run by its last result and its exit. Pure. */
export function classifyRun(facts: RunFacts, exit: RunExit): RunOutcome {
  const { result } = facts;
  if (exit.startError !== null) return crashed(exit, `the agent could not be started: ${exit.startError}`);
  switch (exit.endedBy) {
    case 'unguarded':
      return {
        kind: 'unguarded',
        message: `the agent called tools, but the guardrails were never asked: its client runs no hooks. Run: ${programName()} doctor`,
      };
    case 'login':
      return {
        kind: 'authentication',
        message: `the API refused the credentials ${facts.refusedLogins} times in a row.`,
      };
    case 'silence':
      return { kind: 'hung', message: 'the agent was silent for too long and was ended.' };
    case 'time':
      return { kind: 'out-of-time', message: 'the iteration timed out, and the agent was ended.' };
    case 'budget':
      return succeeded(result) ? OK : { kind: 'over-budget', message: OVER_BUDGET };
    case 'interrupt':
      return succeeded(result) ? OK : { kind: 'interrupted', message: 'the agent was interrupted.' };
    case 'lingering':
    case null:
      return byItself(facts, exit);
    default:
      return exit.endedBy satisfies never;
  }
}

const OVER_BUDGET = "the rest of the loop's budget was used, and the agent was ended.";

const OK: RunOutcome = { kind: 'ok', message: 'done.' };

/** Result of a turn that used up its budget. The client calls it an error even if the agent had ended the turn. */
const SPENT = 'error_max_budget_usd';

/** Returns the final message of a turn; empty if the agent was ended within it. */
export function finalMessage({ result, lastText }: RunFacts): string {
  if (result?.subtype !== SPENT) return result?.text ?? '';
  return result.stopReason === 'end_turn' ? lastText : '';
}

function succeeded(result: AgentResult | null): boolean {
  return result !== null && !result.isError && result.terminalReason === 'completed' && result.turns !== 0;
}

function byItself(facts: RunFacts, exit: RunExit): RunOutcome {
  const { result, apiError } = facts;
  if (result === null) {
    if (apiError !== null) return refused(facts, apiError.message, apiError.status);
    // The client exits with 0 on SIGINT.
    if (exit.signal === null && (exit.code === 0 || SIGNAL_CODES.includes(exit.code)))
      return { kind: 'interrupted', message: 'the agent exited before it had ended its turn.' };
    return crashed(exit, `the agent ended ${howText(exit)} before it had ended its turn.`);
  }
  if (succeeded(result)) {
    if (exit.endedBy === 'lingering' || exit.code === 0) return OK;
    return crashed(exit, `the agent ended ${howText(exit)} after its turn.`);
  }
  return failed(facts, result);
}

function failed(facts: RunFacts, result: AgentResult): RunOutcome {
  const { terminalReason, stopReason, subtype } = result;
  const said = result.text === '' ? `it ended as ${terminalReason ?? subtype}` : quoted(result.text);
  if (stopReason === 'refusal') return { kind: 'refusal', message: `the model refused to continue: ${said}` };
  if (terminalReason === 'prompt_too_long') return { kind: 'prompt-too-long', message: said };
  if (subtype === SPENT) return stopReason === 'end_turn' ? OK : { kind: 'over-budget', message: OVER_BUDGET };
  if (terminalReason === 'max_turns' || subtype === 'error_max_turns')
    return { kind: 'max-turns', message: `the agent reached its turn limit: ${said}` };
  if (terminalReason?.startsWith('aborted') === true)
    return { kind: 'interrupted', message: 'the agent was interrupted.' };
  if (facts.apiError !== null || result.apiStatus !== null) return refused(facts, said, result.apiStatus);
  return { kind: 'other', message: `the agent failed: ${said}` };
}

function refused(facts: RunFacts, message: string, status: number | null): RunOutcome {
  const said = quoted(message);
  const named = apiErrorKind(facts.apiError?.error);
  // The client's term for an answer that it could not parse.
  const malformed = facts.apiError?.error === 'unknown' && status === null;
  const kind = named !== 'other' ? named : malformed ? 'overloaded' : kindOfStatus(status);
  if (kind === 'rate-limited') return { kind, resetsAt: facts.resetsAt, message: said };
  const why = kind === 'other' ? `the agent failed: ${said}` : `${REFUSALS[kind]} (${said.replace(/\.$/, '')}).`;
  return { kind, message: why };
}

const REFUSALS: Readonly<Record<Exclude<ApiError['kind'], 'rate-limited' | 'other'>, string>> = {
  authentication: 'the API refused the credentials',
  billing: 'the API refused for billing reasons',
  'invalid-request': 'the API refused the request',
  overloaded: 'the API is overloaded or broken',
};

function kindOfStatus(status: number | null): ApiError['kind'] {
  if (status === null) return 'other';
  if (status === 401 || status === 403) return 'authentication';
  if (status === 402) return 'billing';
  if (status === 429) return 'rate-limited';
  if (status >= 500) return 'overloaded';
  return status >= 400 ? 'invalid-request' : 'other';
}

function crashed({ code, signal }: RunExit, message: string): RunOutcome {
  return { kind: 'crashed', code, signal, message };
}

function howText({ code, signal }: RunExit): string {
  return signal === null ? `with exit code ${code}` : `by ${signal}`;
}

/** Returns the kind of an API error by its term in Claude Code, to which other hosts' errors are mapped. */
export function apiErrorKind(error: unknown): ApiError['kind'] {
  return (typeof error === 'string' ? KINDS.get(error) : undefined) ?? 'other';
}

const KINDS: ReadonlyMap<string, ApiError['kind']> = new Map([
  ['rate_limit', 'rate-limited'],
  ['authentication_failed', 'authentication'],
  ['oauth_org_not_allowed', 'authentication'],
  ['verification_required', 'authentication'],
  ['cloud_credential_error', 'authentication'],
  ['billing_error', 'billing'],
  ['account_on_hold', 'billing'],
  ['invalid_request', 'invalid-request'],
  ['model_not_found', 'invalid-request'],
  ['overloaded', 'overloaded'],
  ['server_error', 'overloaded'],
]);
