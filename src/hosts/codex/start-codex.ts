import { tokens, type UsageDelta } from '../../engine/events.ts';
import { signalTo } from '../../state/process/identity.ts';
import { commandWords } from '../../text/shell/parse-shell.ts';
import { type AgentMessage, endedWell, type RunFacts } from '../agent/agent-message.ts';
import type { AgentRun, ProgramOptions } from '../agent/agent-run.ts';
import { type RunExit, type RunOutcome, refusedStart } from '../agent/classify-run.ts';
import { StreamRun, type StreamWays } from '../agent/stream-run.ts';
import { type Fields, fieldsOf, listOf, parseFields, stringsOf, textOf } from '../fields.ts';
import { apiFailure, rolloutReader, usageOf } from './rollout.ts';

const ROLLOUT_MS = 1_000;

/** Starts Codex for one turn and sends the prompt. It accepts no messages while it runs: hooks deliver steering. */
export function startCodex(options: ProgramOptions): AgentRun {
  const { args, env, silenceMs } = options;
  const rollouts = rolloutReader(env);
  const meter = codexMeter();
  let readAt = 0;
  const run: StreamRun = new StreamRun(options, {
    args,
    env,
    politeMsOfBudget: 3_000,
    read: eventReader(rollouts.follow),
    measure: meter,
    before: ({ kind }, { guardedCalls }) => {
      // Codex does not report hooks: ours record each call.
      const isGuarded = kind === 'tool-result' && guardedCalls === 0 && options.wasGuarded?.() === true;
      if (isGuarded) run.hear({ kind: 'hook', event: 'PreToolUse' });
      return true;
    },
    after: () => undefined,
    look: (isLast) => {
      if (!isLast && Date.now() - readAt < ROLLOUT_MS) return;
      readAt = Date.now();
      rollouts.read().forEach(run.hear);
    },
    isOverdue: (silentMs) => silentMs > silenceMs,
    // Its commands lead their own groups. Codex ends these on SIGINT; a SIGTERM would leave them running.
    interrupt: () => run.process.pid !== null && signalTo(run.process.pid, 'SIGINT'),
    refused: refusedOptions,
  });
  run.process.write(options.prompt);
  run.process.closeInput();
  return {
    pid: run.process.pid,
    done: run.finished(),
    send: () => false,
    // Only our guard denies a call there.
    allow: () => undefined,
    end: run.end,
  };
}

/**
 * Returns a function that counts the tokens of a run: those of each request and, at the end of a turn, Codex's own total,
 * which lacks subagents. The usage is null while none are known.
 */
function codexMeter(): StreamWays['measure'] {
  const requests = new Map<string, UsageDelta>();
  let total: UsageDelta | null = null;
  return (message) => {
    if (message.kind === 'billed') requests.set(message.id ?? '', message.usage);
    else if (message.kind === 'result') total = message.usage ?? total;
    else return null;
    const all = [...requests.values()];
    if (total === null && all.length === 0) return { usage: null, costUsd: null };
    const sum = (kind: keyof UsageDelta): number => all.reduce((tokens, usage) => tokens + usage[kind], 0);
    return { usage: tokens((kind) => Math.max(total?.[kind] ?? 0, sum(kind))), costUsd: null };
  };
}

/** Classifies a run that did not begin because of its options or configuration, where a retry is useless; else null. */
function refusedOptions(facts: RunFacts, { code, endedBy }: RunExit, complaint: string): RunOutcome | null {
  if (facts.sessionId !== null || endedBy !== null || (code !== 1 && code !== 2)) return null;
  const [first = ''] = complaint.split('\n').filter((line) => /^error\b/i.test(line));
  return first === '' ? null : refusedStart('Codex', first);
}

/**
 * Reads lines of `codex exec --json`; null for a line that is not an object. Accepts unknown types and fields. Calls `onThread` with
 * the id of the thread and of each subagent's.
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
  return [textOf(event['thread_id']), ...stringsOf(item['receiver_thread_ids'])].filter((id) => id !== '');
}

/** Returns the tool call that an item is about; null for any other item. The names are those that hooks get. */
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

/** Returns the command as the agent wrote it, without the shell in which Codex runs it. */
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
