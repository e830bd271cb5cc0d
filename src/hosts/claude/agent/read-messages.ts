import type { UsageDelta } from '../../../engine/events.ts';
import { exactCost } from '../../../engine/policy/budget.ts';
import type { UsageWindow } from '../../../engine/schema/state.ts';
import type { AgentMessage, AgentResult, BackgroundTask } from '../../agent/agent-message.ts';
import { countOf, type Fields, fieldsOf, listOf, parseFields, stringsOf, textOf, textOrNull } from '../../fields.ts';
import { messageUsage, resetTime } from '../transcript/transcript.ts';

/** Reads one line of the client's stream-json output; null if it is not an object. Accepts unknown types and fields. */
export function readMessages(line: string): readonly AgentMessage[] | null {
  const message = parseFields(line);
  if (message === null) return null;
  switch (message['type']) {
    case 'system':
      return system(message);
    case 'assistant':
      return assistant(message);
    case 'user':
      if (message['isReplay'] === true) return [{ kind: 'acknowledged', id: textOf(message['uuid']) }];
      return toolResults(message);
    case 'rate_limit_event': {
      const info = fieldsOf(message['rate_limit_info']);
      const windows = windowsOf(fieldsOf(info['unifiedWindows']));
      return [{ kind: 'limit', rejected: info['status'] === 'rejected', resetsAt: resetTime(info), windows }];
    }
    case 'stream_event':
      return typeof message['parent_tool_use_id'] === 'string' ? [] : streamed(fieldsOf(message['event']));
    case 'result':
      return [...windowOf(message['modelUsage']), { kind: 'result', ...result(message) }];
    default:
      return [];
  }
}

function system(message: Fields): AgentMessage[] {
  switch (message['subtype']) {
    case 'init':
      return [{ kind: 'session', sessionId: textOf(message['session_id']), model: textOrNull(message['model']) }];
    case 'hook_started':
      return [{ kind: 'hook', event: textOf(message['hook_event']) }];
    case 'permission_denied':
      return [denied(message)];
    case 'api_retry':
      return [{ kind: 'retry', attempt: countOf(message['attempt']), error: textOf(message['error']) }];
    case 'compact_boundary':
      return [{ kind: 'compaction' }];
    case 'task_started':
      return [{ kind: 'background-started', id: textOf(message['task_id']), call: textOf(message['tool_use_id']) }];
    case 'background_tasks_changed':
      return [{ kind: 'background', tasks: listOf(message['tasks']).map(backgroundTask) }];
    default:
      return [];
  }
}

function backgroundTask(task: Fields): BackgroundTask {
  const { task_id, description, task_type } = task;
  return { id: textOf(task_id), name: textOf(description), isShell: task_type === 'local_bash' };
}

function denied(message: Fields): AgentMessage {
  const reason = textOf(message['message']);
  const rule = FORBIDDEN.test(reason) ? 'deny' : message['decision_reason_type'] === 'rule' ? 'ask' : null;
  return { kind: 'denied', by: 'client', id: textOf(message['tool_use_id']), reason, ...(rule !== null && { rule }) };
}

/** Pattern for a refusal by a deny rule; a refusal by the permission mode names the mode. */
const FORBIDDEN = /^Permission to use .+ has been denied\.$|^WebFetch denied access to domain:/s;

function streamed(event: Fields): AgentMessage[] {
  switch (event['type']) {
    case 'message_start': {
      const { id, usage } = fieldsOf(event['message']);
      const billed = messageUsage(fieldsOf(usage));
      const { inputTokens, cacheReadTokens, cacheWriteTokens } = billed;
      return [
        { kind: 'request', id: textOf(id), tokens: inputTokens + cacheWriteTokens, cachedTokens: cacheReadTokens },
        { kind: 'billed', id: textOf(id), usage: billed },
      ];
    }
    case 'content_block_delta': {
      const delta = fieldsOf(event['delta']);
      return delta['type'] === 'text_delta' ? [{ kind: 'text-delta', text: textOf(delta['text']) }] : [];
    }
    case 'message_delta': {
      const usage = messageUsage(fieldsOf(event['usage']));
      return [
        { kind: 'billed', id: null, usage },
        { kind: 'answered', tokens: usage.outputTokens },
      ];
    }
    default:
      return [];
  }
}

function assistant(message: Fields): AgentMessage[] {
  const nested = typeof message['parent_tool_use_id'] === 'string';
  const { id, usage, ...rest } = fieldsOf(message['message']);
  const blocks = listOf(rest['content']);
  if (message['is_api_error_message'] === true || typeof message['error'] === 'string') {
    const said = blocks.map((block) => textOf(block['text'])).join(' ');
    const info = fieldsOf(fieldsOf(message['api_error_params'])['rate_limit_info']);
    const status = statusOf(message['api_error_status']);
    // A subagent's error is reported to its caller; the run continues.
    if (nested) return [];
    return [{ kind: 'api-error', error: textOf(message['error']), message: said, status, resetsAt: resetTime(info) }];
  }
  const billed: AgentMessage = { kind: 'billed', id: textOf(id), usage: messageUsage(fieldsOf(usage)) };
  const said = blocks.flatMap((block): AgentMessage[] => {
    if (block['type'] === 'text' && !nested) return [{ kind: 'text', text: textOf(block['text']) }];
    if (block['type'] !== 'tool_use') return [];
    const { id, name, input } = block;
    return [{ kind: 'tool', id: textOf(id), name: textOf(name), input: fieldsOf(input), nested }];
  });
  return [billed, ...said];
}

function toolResults(message: Fields): AgentMessage[] {
  const nested = typeof message['parent_tool_use_id'] === 'string';
  return listOf(fieldsOf(message['message'])['content']).flatMap((block): AgentMessage[] => {
    if (block['type'] !== 'tool_result') return [];
    const [id, failed] = [textOf(block['tool_use_id']), block['is_error'] === true];
    const said = failed ? textOf(block['content']) : '';
    const [, reason] = HOOK_REFUSAL.exec(said) ?? [];
    const denied: AgentMessage[] = reason === undefined ? [] : [{ kind: 'denied', by: 'hook', id, reason }];
    // The client does not announce this refusal either.
    if (said.includes(FORBIDDEN_FILE))
      denied.push({ kind: 'denied', by: 'client', id, reason: FORBIDDEN_FILE, rule: 'deny' });
    return [...denied, { kind: 'tool-result', id, failed, nested }];
  });
}

const FORBIDDEN_FILE = 'File is in a directory that is denied by your permission settings.';
/** Pattern for the result of a call that a hook refused, which the client does not announce. Older clients add no prefix. */
const HOOK_REFUSAL = /^(?:PreToolUse:\S+ hook error: |(?=\[blocked by guardrail))(.+)$/s;

function result(message: Fields): AgentResult {
  const errors = stringsOf(message['errors']).filter((one) => one !== '');
  const cost = message['total_cost_usd'];
  return {
    subtype: textOf(message['subtype']),
    isError: message['is_error'] === true,
    terminalReason: textOrNull(message['terminal_reason']),
    stopReason: textOrNull(message['stop_reason']),
    apiStatus: statusOf(message['api_error_status']),
    turns: countOf(message['num_turns']),
    text: textOrNull(message['result']) ?? errors.join(' '),
    costUsd: typeof cost === 'number' && Number.isFinite(cost) && cost >= 0 ? exactCost(cost) : null,
    usage: usageOf(message['modelUsage']),
  };
}

function windowsOf(windows: Fields): UsageWindow[] {
  return (['five_hour', 'seven_day'] as const).flatMap((name) => {
    const { utilization, ...rest } = fieldsOf(windows[name]);
    return typeof utilization === 'number' ? [{ name, used: utilization, resetsAt: resetTime(rest) }] : [];
  });
}

function usageOf(models: unknown): UsageDelta | null {
  if (typeof models !== 'object' || models === null) return null;
  const total = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  for (const model of Object.values(models).map(fieldsOf)) {
    total.inputTokens += countOf(model['inputTokens']);
    total.outputTokens += countOf(model['outputTokens']);
    total.cacheReadTokens += countOf(model['cacheReadInputTokens']);
    total.cacheWriteTokens += countOf(model['cacheCreationInputTokens']);
  }
  return total;
}

function windowOf(models: unknown): AgentMessage[] {
  const most = Math.max(
    0,
    ...Object.values(fieldsOf(models)).map((model) => countOf(fieldsOf(model)['contextWindow'])),
  );
  return most === 0 ? [] : [{ kind: 'window', tokens: most }];
}

function statusOf(value: unknown): number | null {
  return Number.isInteger(value) ? (value as number) : null;
}
