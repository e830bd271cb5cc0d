import type { AgentMessage, AgentResult } from './agent-message.ts';

/** What is kept of a run, however long its stream: enough to say what it was, and no more. */
export interface RunFacts {
  readonly sessionId: string | null;
  readonly model: string | null;
  /** The last one: a run can have several. */
  readonly result: AgentResult | null;
  /** The last thing the API refused; null once the agent has spoken again. */
  readonly apiError: Extract<AgentMessage, { kind: 'api-error' }> | null;
  /** When the usage limit that was hit last resets; null where none was hit, or nobody said. */
  readonly resetsAt: string | null;
  /** Refused credentials in a row, while the client asks again and again. */
  readonly refusedLogins: number;
  /** Calls of the main agent and of its subagents; null for an agent that does not tell. */
  readonly toolCalls: number | null;
  /** Hooks that ran before a tool call. */
  readonly guardedCalls: number;
  /** A tool has run before any hook had. */
  readonly unguarded: boolean;
  /** Lines that were no JSON, or longer than anybody holds, the torn last one among them. */
  readonly lostLines: number;
}

export const NO_FACTS: RunFacts = {
  sessionId: null,
  model: null,
  result: null,
  apiError: null,
  resetsAt: null,
  refusedLogins: 0,
  toolCalls: 0,
  guardedCalls: 0,
  unguarded: false,
  lostLines: 0,
};

/** What is known after one more message. */
export function addFact(facts: RunFacts, message: AgentMessage): RunFacts {
  switch (message.kind) {
    case 'session':
      return { ...facts, sessionId: message.sessionId, model: message.model };
    case 'text':
      return { ...facts, apiError: null, refusedLogins: 0 };
    case 'tool':
      return { ...facts, apiError: null, refusedLogins: 0, toolCalls: (facts.toolCalls ?? 0) + 1 };
    case 'tool-result': {
      // A call that failed may never have come as far as a hook: a tool that there is not, an input that is none.
      const unguarded = facts.unguarded || (!message.failed && facts.guardedCalls === 0);
      return unguarded === facts.unguarded ? facts : { ...facts, unguarded };
    }
    case 'hook':
      return message.event === 'PreToolUse' ? { ...facts, guardedCalls: facts.guardedCalls + 1 } : facts;
    case 'limit':
      return message.rejected ? { ...facts, resetsAt: message.resetsAt } : facts;
    case 'retry':
      return { ...facts, refusedLogins: message.error === 'authentication_failed' ? facts.refusedLogins + 1 : 0 };
    case 'api-error':
      return { ...facts, apiError: message, resetsAt: message.resetsAt ?? facts.resetsAt };
    case 'heard':
    case 'request':
    case 'text-delta':
    case 'answered':
    case 'window':
    case 'compaction':
      return facts;
    case 'result': {
      const { kind: _, ...result } = message;
      return { ...facts, result };
    }
    default:
      return message satisfies never;
  }
}
