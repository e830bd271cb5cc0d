import { commandWords } from '../../text/shell/parse-shell.ts';
import { type AgentMessage, endedWell } from '../agent/agent-message.ts';
import { type Fields, fieldsOf, listOf, parseFields, textOf } from '../fields.ts';
import { apiFailure, usageOf } from './api-error.ts';

/**
 * Reads lines of `codex exec --json`; null for a line that is no object. Accepts unknown types and fields. Calls `onThread` with the
 * id of the thread and of each subagent's.
 */
export function eventReader(onThread: (id: string) => void): (line: string) => readonly AgentMessage[] | null {
  /** Calls that were announced before they ended. */
  const open = new Set<string>();
  let text = '';
  return (line) => {
    const event = parseFields(line);
    if (event === null) return null;
    const item = fieldsOf(event['item']);
    for (const id of threadsOf(event, item)) onThread(id);
    switch (event['type']) {
      case 'thread.started':
        return [{ kind: 'session', sessionId: textOf(event['thread_id']), model: null }];
      case 'item.started': {
        const call = callOf(item);
        if (call !== null) open.add(call.id);
        return call === null ? [] : [call];
      }
      case 'item.completed': {
        if (item['type'] === 'agent_message') {
          text = textOf(item['text']);
          return [{ kind: 'text', text }];
        }
        const call = callOf(item);
        if (call === null) return [];
        const result: AgentMessage = { kind: 'tool-result', id: call.id, failed: hasFailed(item), nested: false };
        return open.delete(call.id) ? [result] : [call, result];
      }
      case 'error':
        return [failure(textOf(event['message']))];
      case 'turn.completed':
        return [{ kind: 'result', ...endedWell(text), usage: usageOf(fieldsOf(event['usage'])) }];
      case 'turn.failed': {
        const { error, message, status } = apiFailure(textOf(fieldsOf(event['error'])['message']));
        const terminalReason = error === 'prompt_too_long' ? error : 'api_error';
        const failed = { subtype: 'error', isError: true, terminalReason, apiStatus: status, text: message };
        return [{ kind: 'result', ...endedWell(''), ...failed }];
      }
      default:
        return [];
    }
  };
}

function threadsOf(event: Fields, item: Fields): string[] {
  const receivers = item['receiver_thread_ids'];
  return [event['thread_id'], ...(Array.isArray(receivers) ? receivers : [])].map(textOf).filter((id) => id !== '');
}

/** Returns the tool call that an item is about; null for another item. The names are those that hooks get. */
function callOf(item: Fields): Extract<AgentMessage, { kind: 'tool' }> | null {
  const named = namedCall(item);
  if (named === null) return null;
  return { kind: 'tool', id: textOf(item['id']), name: named[0], input: named[1], nested: false };
}

function namedCall(item: Fields): readonly [name: string, input: Fields] | null {
  switch (item['type']) {
    case 'command_execution':
      return ['Bash', { command: withoutShell(textOf(item['command'])) }];
    case 'file_change': {
      const paths = listOf(item['changes']).map(({ path }) => textOf(path));
      return ['apply_patch', { file_path: paths.join(', ') }];
    }
    case 'mcp_tool_call':
      return [`mcp__${textOf(item['server'])}__${textOf(item['tool'])}`, fieldsOf(item['arguments'])];
    case 'web_search':
      return ['web_search', { query: textOf(item['query']) }];
    case 'collab_tool_call':
      return [textOf(item['tool']), { description: textOf(item['prompt']) }];
    default:
      return null;
  }
}

/** Returns the command as the agent wrote it, without the shell that Codex runs it in. */
function withoutShell(shown: string): string {
  const [words = []] = /^\S+ -l?c /.test(shown) ? commandWords(shown) : [];
  return words.length === 3 ? (words[2] ?? shown) : shown;
}

function hasFailed(item: Fields): boolean {
  return item['status'] === 'failed' || (typeof item['exit_code'] === 'number' && item['exit_code'] !== 0);
}

/** Returns a retry (`Reconnecting... 1/5 (why)`) or the error that ends the turn. */
function failure(message: string): AgentMessage {
  const [, attempt, why = ''] = /^Reconnecting\.\.\. (\d+)\/\d+(?: \((.*)\))?$/s.exec(message) ?? [];
  if (attempt === undefined) return { kind: 'api-error', ...apiFailure(message) };
  const isRefused = apiFailure(why).status === 401;
  return { kind: 'retry', attempt: Number(attempt), error: isRefused ? 'authentication_failed' : why };
}
