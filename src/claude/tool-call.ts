import type { HookInput } from './hook-input.ts';

/** A tool call as the tool hooks get it; each part checked for its type. */
export interface HookToolCall {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly id: string;
  /** Set inside a subagent. */
  readonly agentId: string | null;
}

/** The tool call of a tool hook's payload; what is missing is empty. */
export function toolCall({ raw }: HookInput): HookToolCall {
  const input = raw['tool_input'];
  const agentId = raw['agent_id'];
  return {
    name: text(raw['tool_name']),
    input: typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {},
    id: text(raw['tool_use_id']),
    agentId: typeof agentId === 'string' && agentId !== '' ? agentId : null,
  };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
