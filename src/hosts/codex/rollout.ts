import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { UsageDelta } from '../../engine/events.ts';
import { readOn } from '../../state/files/journal-lines.ts';
import { namesIn } from '../../state/files/regular-file.ts';
import { homeFolder } from '../../state/home-folder.ts';
import type { AgentMessage } from '../agent/agent-message.ts';
import { apiErrorKind } from '../agent/classify-run.ts';
import { scan } from '../claude/transcript/transcript.ts';
import { countOf, type Fields, fieldsOf, listOf, textOf, textOrNull } from '../fields.ts';
import type { SessionError } from '../host.ts';
import { CODEX_HOOKS } from './hook-output.ts';

/**
 * Reads what the stream lacks from the rollouts of a thread and of its subagents as they grow: the tokens of each request,
 * including subagents', and denied calls. A run without a rollout (`--ephemeral`) has its tokens at the end of its turn.
 */
export function rolloutReader(env: NodeJS.ProcessEnv): {
  readonly follow: (threadId: string) => void;
  readonly read: () => readonly AgentMessage[];
} {
  const threads = new Map<string, { path: string | null; next: number }>();
  const calls = new Map<string, Fields>();
  const readOne = (threadId: string, thread: { path: string | null; next: number }): AgentMessage[] => {
    thread.path ??= rolloutOf(threadId, env);
    if (thread.path === null) return [];
    const { entries, next } = readOn(thread.path, thread.next);
    thread.next = next;
    return entries.flatMap(({ type, payload }) => {
      const billed = codexBilled({ type, payload });
      if (billed !== null) return [{ kind: 'billed', ...billed } as const];
      return type === 'response_item' ? denied(fieldsOf(payload), calls) : [];
    });
  };
  return {
    follow: (threadId) => {
      if (threadId !== '' && !threads.has(threadId)) threads.set(threadId, { path: null, next: 0 });
    },
    read: () => [...threads].flatMap(([threadId, thread]) => readOne(threadId, thread)),
  };
}

/** Pattern for the result of a call that a hook denied. */
const DENIED = /(?:Command|Tool call) blocked by PreToolUse hook: (.*)\. (?:Command|Tool): /s;

/** Returns the call to which this result belongs, if a hook denied it: the stream has neither. */
function denied(item: Fields, calls: Map<string, Fields>): AgentMessage[] {
  const id = textOf(item['call_id']);
  if (id === '') return [];
  if (item['output'] === undefined) {
    calls.set(id, item);
    return [];
  }
  const call = calls.get(id) ?? {};
  calls.delete(id);
  const [, reason] = DENIED.exec(outputText(item['output'])) ?? [];
  if (reason === undefined) return [];
  const [own, server] = [textOf(call['name']), textOf(call['namespace'])];
  const name = own === 'exec_command' ? 'Bash' : server.startsWith('mcp__') ? `${server}__${own}` : own;
  const text = textOf(call['input']) || textOf(call['arguments']);
  return [
    { kind: 'tool', id, name, input: { command: commandIn(text) }, nested: false },
    { kind: 'denied', by: 'hook', id, reason },
    { kind: 'tool-result', id, failed: true, nested: false },
  ];
}

function outputText(output: unknown): string {
  return typeof output === 'string'
    ? output
    : listOf(output)
        .map(({ text }) => textOf(text))
        .join('\n');
}

/** Returns the command in the arguments of a shell call; a patch or program is itself the text. */
function commandIn(text: string): string {
  return /"cmd"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1]?.replace(/^"|"$/g, '').replaceAll('\\"', '"') ?? text;
}

/** Returns the rollout of a thread, sessions/YEAR/MONTH/DAY/rollout-TIME-THREAD.jsonl, since yesterday; or null. */
function rolloutOf(threadId: string, env: NodeJS.ProcessEnv): string | null {
  const sessions = join(codexHome(env), 'sessions');
  if (!existsSync(sessions)) return null;
  const last = (folder: string, count: number): string[] =>
    namesIn(folder)
      .toSorted()
      .slice(-count)
      .map((name) => join(folder, name));
  const days = last(sessions, 1)
    .flatMap((year) => last(year, 2))
    .flatMap((month) => last(month, 2));
  for (const day of days.toReversed()) {
    const name = namesIn(day).find((each) => each.endsWith(`${threadId}.jsonl`));
    if (name !== undefined) return join(day, name);
  }
  return null;
}

/** Returns the API error with which the last ended turn of a rollout failed, so that no Stop hook ran; null if there is none. */
export function rolloutError(path: string | null): SessionError | null {
  return scan(path, '"task_complete"', ({ type, timestamp, payload }) => {
    const { type: kind, error } = fieldsOf(payload);
    if (type !== 'event_msg' || kind !== 'task_complete') return false;
    const message = textOf(fieldsOf(error)['message']);
    if (message === '') return null;
    const { error: term, status, resetsAt } = apiFailure(message);
    const known = apiErrorKind(term);
    const isServers = known === 'other' && status !== null && status >= 500;
    const shown = { message: message.slice(0, 500), resetsAt, at: textOrNull(timestamp) };
    return { kind: isServers ? 'overloaded' : known, login: CODEX_HOOKS.login, ...shown };
  });
}

/** Returns what a line of a rollout bills; null for any other line. */
export function codexBilled({ type, payload }: Fields): { readonly id: string; readonly usage: UsageDelta } | null {
  if (type !== 'token_usage_record') return null;
  const { response_id, usage } = fieldsOf(payload);
  return { id: textOf(response_id), usage: usageOf(fieldsOf(usage)) };
}

/** Reads token counts, whose input includes the cached part. */
export function usageOf(usage: Fields): UsageDelta {
  const cached = countOf(usage['cached_input_tokens']);
  const written = countOf(usage['cache_write_input_tokens']);
  return {
    inputTokens: Math.max(0, countOf(usage['input_tokens']) - cached - written),
    outputTokens: countOf(usage['output_tokens']),
    cacheReadTokens: cached,
    cacheWriteTokens: written,
  };
}

type ApiFailure = Omit<Extract<AgentMessage, { kind: 'api-error' }>, 'kind'>;

/** Codex's sentences about a failed request (0.171), and the terms for classifying a run. Apostrophes are typographic. */
const SENTENCES: readonly (readonly [RegExp, term: string])[] = [
  [/hit your usage limit/i, 'rate_limit'],
  [/quota exceeded|billing details/i, 'billing_error'],
  [/ran out of room in the model.s context window/i, 'prompt_too_long'],
  [
    /experiencing high demand|stream disconnected|connection (?:failed|refused|reset)|error sending request/i,
    'overloaded',
  ],
];

/** Reads Codex's error for a failed turn. With `exec` it gives no code, only a sentence for people. */
export function apiFailure(message: string, now: Date = new Date()): ApiFailure {
  const status = Number(/\bstatus:? (\d{3})\b/.exec(message)?.[1] ?? Number.NaN);
  const named = SENTENCES.find(([form]) => form.test(message))?.[1];
  const term = named ?? (Number.isNaN(status) ? (message.startsWith('{') ? 'invalid_request' : 'unknown') : '');
  return {
    error: term,
    message,
    status: Number.isNaN(status) ? null : status,
    resetsAt: term === 'rate_limit' ? resetIn(message, now) : null,
  };
}

/** Returns the local time in "try again at 7:34 PM" or "at Nov 30th, 2026 7:56 PM" as ISO-8601 UTC; or null. */
function resetIn(message: string, now: Date): string | null {
  const [, day, hour = '', minute = '', half = ''] =
    /\bat (?:(\w{3} \d{1,2}(?:st|nd|rd|th)?,? \d{4}) )?(\d{1,2}):(\d{2}) ([AP])M/i.exec(message) ?? [];
  if (hour === '') return null;
  const at = day === undefined ? new Date(now) : new Date(`${day.replace(/(?<=\d)(?:st|nd|rd|th)/, '')} 00:00`);
  if (Number.isNaN(at.getTime())) return null;
  at.setHours((Number(hour) % 12) + (half.toUpperCase() === 'P' ? 12 : 0), Number(minute), 0, 0);
  // A time without a date is the next such time. The minute that it names may already have begun.
  if (day === undefined && at.getTime() + 60_000 < now.getTime()) at.setDate(at.getDate() + 1);
  return at.toISOString();
}

export function codexHome(env: NodeJS.ProcessEnv): string {
  return env['CODEX_HOME'] || join(homeFolder(env), '.codex');
}
