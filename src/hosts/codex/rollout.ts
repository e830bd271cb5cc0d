import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readOn } from '../../state/files/journal-lines.ts';
import { namesIn } from '../../state/files/regular-file.ts';
import type { AgentMessage } from '../agent/agent-message.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../fields.ts';
import { codexHome } from './find-codex.ts';
import { usageOf } from './read-events.ts';

/**
 * Reads what the stream lacks from the rollouts of a thread and of its subagents while they grow: the tokens of each request,
 * subagents' included, and denied calls. A run without a rollout (`--ephemeral`) has its tokens at the end of its turn.
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
      const fields = fieldsOf(payload);
      if (type === 'token_usage_record') return billed(fields);
      return type === 'response_item' ? denied(fields, calls) : [];
    });
  };
  return {
    follow: (threadId) => {
      if (threadId !== '' && !threads.has(threadId)) threads.set(threadId, { path: null, next: 0 });
    },
    read: () => [...threads].flatMap(([threadId, thread]) => readOne(threadId, thread)),
  };
}

function billed({ response_id, usage }: Fields): AgentMessage[] {
  return [{ kind: 'billed', id: textOf(response_id), usage: usageOf(fieldsOf(usage)) }];
}

/** Pattern for the result of a call that a hook denied. */
const DENIED = /Command blocked by PreToolUse hook: (.*)\. Command: /s;

/** Returns the call that this result belongs to, if a hook denied it: the stream has neither. */
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
  const name = textOf(call['name']) === 'exec_command' ? 'Bash' : textOf(call['name']);
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

/** Returns the command in the arguments of a shell call; a patch or a program is its own text. */
function commandIn(text: string): string {
  return /"cmd"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1]?.replace(/^"|"$/g, '').replaceAll('\\"', '"') ?? text;
}

/** Returns the rollout of a thread: sessions/YEAR/MONTH/DAY/rollout-TIME-THREAD.jsonl, of today or the day before. */
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
