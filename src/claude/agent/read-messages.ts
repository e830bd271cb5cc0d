import type { UsageDelta } from '../../engine/events.ts';
import { resetTime } from '../transcript/api-failure.ts';
import type { AgentMessage, AgentResult } from './agent-message.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads one line of the client's stream-json output; null if it is not a JSON object. Unknown types yield no messages,
 * and every field may be missing: a newer client must not break a loop.
 */
export function readMessages(line: string): readonly AgentMessage[] | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return null;
  const message = parsed as Fields;
  switch (message['type']) {
    case 'system':
      return system(message);
    case 'assistant':
      return assistant(message);
    case 'user':
      if (message['isReplay'] === true) return [{ kind: 'heard', id: text(message['uuid']) }];
      return toolResults(message);
    case 'rate_limit_event': {
      const info = object(message['rate_limit_info']);
      return [{ kind: 'limit', rejected: info['status'] === 'rejected', resetsAt: resetTime(info) }];
    }
    case 'stream_event':
      return typeof message['parent_tool_use_id'] === 'string' ? [] : streamed(object(message['event']));
    case 'result':
      return [...windowOf(message['modelUsage']), { kind: 'result', ...result(message) }];
    default:
      return [];
  }
}

function system(message: Fields): AgentMessage[] {
  switch (message['subtype']) {
    case 'init':
      return [{ kind: 'session', sessionId: text(message['session_id']), model: textOrNull(message['model']) }];
    case 'hook_started':
      return [{ kind: 'hook', event: text(message['hook_event']) }];
    case 'api_retry':
      return [{ kind: 'retry', attempt: amount(message['attempt']), error: text(message['error']) }];
    case 'compact_boundary':
      return [{ kind: 'compaction' }];
    default:
      return [];
  }
}

/** Reads a partial message in the API's format. */
function streamed(event: Fields): AgentMessage[] {
  switch (event['type']) {
    case 'message_start': {
      const usage = object(object(event['message'])['usage']);
      const read = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'] as const;
      return [{ kind: 'request', contextTokens: read.reduce((sum, key) => sum + amount(usage[key]), 0) }];
    }
    case 'content_block_delta': {
      const delta = object(event['delta']);
      return delta['type'] === 'text_delta' ? [{ kind: 'text-delta', text: text(delta['text']) }] : [];
    }
    case 'message_delta':
      return [{ kind: 'answered', tokens: amount(object(event['usage'])['output_tokens']) }];
    default:
      return [];
  }
}

function assistant(message: Fields): AgentMessage[] {
  const nested = typeof message['parent_tool_use_id'] === 'string';
  const blocks = contentOf(message);
  if (message['is_api_error_message'] === true || typeof message['error'] === 'string') {
    const said = blocks.map((block) => text(block['text'])).join(' ');
    const info = object(object(message['api_error_params'])['rate_limit_info']);
    const status = statusOf(message['api_error_status']);
    // A subagent's error is reported to its caller; the run continues.
    if (nested) return [];
    return [{ kind: 'api-error', error: text(message['error']), message: said, status, resetsAt: resetTime(info) }];
  }
  return blocks.flatMap((block): AgentMessage[] => {
    if (block['type'] === 'text' && !nested) return [{ kind: 'text', text: text(block['text']) }];
    if (block['type'] !== 'tool_use') return [];
    const { id, name, input } = block;
    return [{ kind: 'tool', id: text(id), name: text(name), input: object(input), nested }];
  });
}

function toolResults(message: Fields): AgentMessage[] {
  const nested = typeof message['parent_tool_use_id'] === 'string';
  return contentOf(message).flatMap((block): AgentMessage[] =>
    block['type'] === 'tool_result'
      ? [{ kind: 'tool-result', id: text(block['tool_use_id']), failed: block['is_error'] === true, nested }]
      : [],
  );
}

function result(message: Fields): AgentResult {
  const errors = Array.isArray(message['errors']) ? message['errors'].map(text).filter((one) => one !== '') : [];
  const cost = message['total_cost_usd'];
  return {
    subtype: text(message['subtype']),
    isError: message['is_error'] === true,
    terminalReason: textOrNull(message['terminal_reason']),
    stopReason: textOrNull(message['stop_reason']),
    apiStatus: statusOf(message['api_error_status']),
    turns: amount(message['num_turns']),
    text: textOrNull(message['result']) ?? errors.join(' '),
    costUsd: typeof cost === 'number' && Number.isFinite(cost) && cost >= 0 ? cost : null,
    usage: usageOf(message['modelUsage']),
  };
}

/** Sum over all models; null if the client names none. */
function usageOf(models: unknown): UsageDelta | null {
  if (typeof models !== 'object' || models === null) return null;
  const total = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  for (const model of Object.values(models).map(object)) {
    total.inputTokens += amount(model['inputTokens']);
    total.outputTokens += amount(model['outputTokens']);
    total.cacheReadTokens += amount(model['cacheReadInputTokens']);
    total.cacheWriteTokens += amount(model['cacheCreationInputTokens']);
  }
  return total;
}

function windowOf(models: unknown): AgentMessage[] {
  const most = Math.max(0, ...Object.values(object(models)).map((model) => amount(object(model)['contextWindow'])));
  return most === 0 ? [] : [{ kind: 'window', tokens: most }];
}

function contentOf(message: Fields): Fields[] {
  const content = object(message['message'])['content'];
  return Array.isArray(content) ? content.map(object) : [];
}

function object(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Counts beyond exact integers would become Infinity, which a state file cannot hold. */
function amount(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
}

function statusOf(value: unknown): number | null {
  return Number.isInteger(value) ? (value as number) : null;
}
