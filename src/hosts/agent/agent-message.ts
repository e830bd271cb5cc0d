import type { UsageDelta } from '../../engine/events.ts';
import type { UsageWindow } from '../../engine/schema/state.ts';

/** Message of an agent, reduced to what this program uses. One line of its stream can hold several. */
export type AgentMessage =
  | { readonly kind: 'session'; readonly sessionId: string; readonly model: string | null }
  /** The main agent requests its next message. `tokens` is the input without `cachedTokens`. */
  | { readonly kind: 'request'; readonly id: string; readonly tokens: number; readonly cachedTokens: number }
  /** Part of the main agent's text; the whole text follows. */
  | { readonly kind: 'text-delta'; readonly text: string }
  /** The main agent's message is complete; `tokens`: its tokens. */
  | { readonly kind: 'answered'; readonly tokens: number }
  /** Tokens of a message so far, including a subagent's. `id` is null for the main agent's current message. */
  | { readonly kind: 'billed'; readonly id: string | null; readonly usage: UsageDelta }
  /** Largest context window of this run's models, in tokens. */
  | { readonly kind: 'window'; readonly tokens: number }
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'tool';
      readonly id: string;
      readonly name: string;
      readonly input: Readonly<Record<string, unknown>>;
      readonly nested: boolean;
    }
  | { readonly kind: 'tool-result'; readonly id: string; readonly failed: boolean; readonly nested: boolean }
  /** The client or a hook refused a call; its result follows. `rule`: the kind of the user's rule that the client applied. */
  | {
      readonly kind: 'denied';
      readonly by: 'client' | 'hook';
      readonly id: string;
      readonly reason: string;
      readonly rule?: 'deny' | 'ask';
    }
  | { readonly kind: 'acknowledged'; readonly id: string }
  | { readonly kind: 'hook'; readonly event: string }
  | {
      readonly kind: 'limit';
      readonly rejected: boolean;
      readonly resetsAt: string | null;
      readonly windows: readonly UsageWindow[];
    }
  /** The client retries a request to the API. `error` is the client's own term. */
  | { readonly kind: 'retry'; readonly attempt: number; readonly error: string }
  | {
      readonly kind: 'api-error';
      readonly error: string;
      readonly message: string;
      readonly status: number | null;
      readonly resetsAt: string | null;
    }
  | { readonly kind: 'compaction' }
  /** The call has begun background work. */
  | { readonly kind: 'background-started'; readonly id: string; readonly call: string }
  /** All of the agent's background work that is running now. */
  | { readonly kind: 'background'; readonly tasks: readonly BackgroundTask[] }
  | ({ readonly kind: 'result' } & AgentResult);

export interface BackgroundTask {
  readonly id: string;
  /** The agent's own name for it. */
  readonly name: string;
  readonly isShell: boolean;
}

/** End of a turn. A run can have several; cost and usage are those of the whole run so far, including subagents. */
export interface AgentResult {
  readonly subtype: string;
  readonly isError: boolean;
  readonly terminalReason: string | null;
  readonly stopReason: string | null;
  readonly apiStatus: number | null;
  readonly turns: number | null;
  readonly text: string;
  readonly costUsd: number | null;
  readonly usage: UsageDelta | null;
}

/** Returns the result of a turn that ended well, for a host whose stream says no more about it. */
export function endedWell(text: string): AgentResult {
  return {
    subtype: 'success',
    isError: false,
    terminalReason: 'completed',
    stopReason: null,
    apiStatus: null,
    turns: null,
    text,
    costUsd: null,
    usage: null,
  };
}

/** Summary of a run, of constant size however long its stream is. */
export interface RunFacts {
  readonly sessionId: string | null;
  readonly model: string | null;
  readonly result: AgentResult | null;
  /** Main agent's last text. */
  readonly lastText: string;
  /** Last error of the API; null once the agent has continued. */
  readonly apiError: Extract<AgentMessage, { kind: 'api-error' }> | null;
  /** Reset time of the usage limit that was reached last; null if there is none or it is unknown. */
  readonly resetsAt: string | null;
  readonly windows: readonly UsageWindow[];
  /** Tokens billed so far, with or without a result; null if unknown. */
  readonly usage: UsageDelta | null;
  readonly costUsd: number | null;
  /** Consecutive refusals of the credentials, while the client keeps retrying. */
  readonly refusedLogins: number;
  /** Calls of the main agent and of its subagents; null for an agent that does not report them. */
  readonly toolCalls: number | null;
  readonly guardedCalls: number;
  readonly unguarded: boolean;
  /** Number of lines that were not JSON or too long, including a torn last line. */
  readonly lostLines: number;
}

export const NO_FACTS: RunFacts = {
  sessionId: null,
  model: null,
  result: null,
  lastText: '',
  apiError: null,
  resetsAt: null,
  windows: [],
  usage: null,
  costUsd: null,
  refusedLogins: 0,
  lostLines: 0,
  toolCalls: 0,
  guardedCalls: 0,
  unguarded: false,
};

type Fact<K extends AgentMessage['kind']> = (
  facts: RunFacts,
  message: Extract<AgentMessage, { readonly kind: K }>,
) => RunFacts;

/** Effect of each message on the facts; other messages have none. */
const FACTS: { readonly [K in AgentMessage['kind']]?: Fact<K> } = {
  session: (facts, { sessionId, model }) => ({ ...facts, sessionId, model }),
  text: (facts, { text }) => ({ ...facts, lastText: text, apiError: null, refusedLogins: 0 }),
  tool: (facts) => ({ ...facts, apiError: null, refusedLogins: 0, toolCalls: (facts.toolCalls ?? 0) + 1 }),
  // A failed call may never have reached a hook: an unknown tool, or invalid input.
  'tool-result': (facts, { failed }) =>
    failed || facts.unguarded || facts.guardedCalls > 0 ? facts : { ...facts, unguarded: true },
  hook: (facts, { event }) => (event === 'PreToolUse' ? { ...facts, guardedCalls: facts.guardedCalls + 1 } : facts),
  limit: (facts, { rejected, resetsAt, windows }) => ({
    ...facts,
    ...(rejected && { resetsAt }),
    ...(windows.length > 0 && { windows }),
  }),
  retry: (facts, { error }) => {
    return { ...facts, refusedLogins: error === 'authentication_failed' ? facts.refusedLogins + 1 : 0 };
  },
  'api-error': (facts, error) => ({ ...facts, apiError: error, resetsAt: error.resetsAt ?? facts.resetsAt }),
  result: (facts, { kind: _, ...result }) => {
    const turns = result.turns === null ? null : (facts.result?.turns ?? 0) + result.turns;
    return { ...facts, result: { ...result, turns } };
  },
};

export function addFact(facts: RunFacts, message: AgentMessage): RunFacts {
  return (FACTS[message.kind] as Fact<AgentMessage['kind']> | undefined)?.(facts, message) ?? facts;
}
