import type { UsageDelta } from '../../core/events.ts';

/** What an agent tells while it works, as far as anybody here asks. One line of its stream can tell several things. */
export type AgentMessage =
  | { readonly kind: 'session'; readonly sessionId: string; readonly model: string | null }
  /** The main agent is asked for its next message: how many tokens it reads for that. Only told where it is streamed. */
  | { readonly kind: 'request'; readonly contextTokens: number }
  /** A piece of what the main agent says, which is told whole after it. Only told where it is streamed. */
  | { readonly kind: 'text-delta'; readonly text: string }
  /** The main agent's message is over: how many tokens it has. Only told where it is streamed. */
  | { readonly kind: 'answered'; readonly tokens: number }
  /** The most tokens that a model of this run can read, the largest of them. */
  | { readonly kind: 'window'; readonly tokens: number }
  /** The main agent speaks. */
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'tool';
      readonly id: string;
      readonly name: string;
      readonly input: Readonly<Record<string, unknown>>;
      /** A subagent made the call. */
      readonly nested: boolean;
    }
  | { readonly kind: 'tool-result'; readonly id: string; readonly failed: boolean; readonly nested: boolean }
  /** A message that was sent to the agent has reached it. */
  | { readonly kind: 'heard'; readonly id: string }
  /** A hook of ours or of somebody else's has begun. */
  | { readonly kind: 'hook'; readonly event: string }
  /** `resetsAt` is ISO-8601 UTC, null where the client does not say. */
  | { readonly kind: 'limit'; readonly rejected: boolean; readonly resetsAt: string | null }
  /** The client asks the API once more. `error` is its own word for what was wrong. */
  | { readonly kind: 'retry'; readonly attempt: number; readonly error: string }
  | {
      readonly kind: 'api-error';
      readonly error: string;
      readonly message: string;
      readonly status: number | null;
      readonly resetsAt: string | null;
    }
  | { readonly kind: 'compaction' }
  | ({ readonly kind: 'result' } & AgentResult);

/** A turn is over. A run can have several; cost and usage are those of the whole run so far, subagents included. */
export interface AgentResult {
  readonly subtype: string;
  readonly isError: boolean;
  readonly terminalReason: string | null;
  readonly stopReason: string | null;
  readonly apiStatus: number | null;
  /** null for an agent that does not tell. */
  readonly turns: number | null;
  /** The final message; of an error what the client says of it. */
  readonly text: string;
  /** US dollars. */
  readonly costUsd: number | null;
  readonly usage: UsageDelta | null;
}
