import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { tokens, type UsageDelta } from '../../engine/events.ts';
import type { ReadMarks } from '../../engine/schema/state.ts';
import { readLines } from '../../state/files/journal-lines.ts';
import { orElse } from '../../text/or-else.ts';
import { countOf, type Fields } from '../fields.ts';
import { transcriptSize } from './transcript.ts';

/** Maximum bytes of a transcript that one Stop reads; the next Stop reads on. */
const BUDGET = 8 * 1024 * 1024;
/** Lines of one message follow one another; remembering a few ids is enough to count each once. */
const REMEMBERED = 16;

/** Sums the tokens used since the marks, subagents included. A new transcript is counted from its end on. */
export function readUsage(path: string | null, marks: ReadMarks): { usage: UsageDelta | null; marks: ReadMarks } {
  if (path === null) return { usage: null, marks };
  const known = marks.transcriptPath === path;
  const total: Totals = tokens(() => 0);
  const ids = new Set(known ? marks.lastMessageIds : []);
  const transcriptBytes = add(path, known ? marks.transcriptBytes : (transcriptSize(path) ?? 0), ids, total);
  const subagentBytes: Record<string, number> = {};
  for (const file of subagentFiles(path)) {
    const from = known ? (marks.subagentBytes[file.name] ?? 0) : (transcriptSize(file.path) ?? 0);
    subagentBytes[file.name] = add(file.path, from, ids, total);
  }
  const lastMessageIds = [...ids].slice(-REMEMBERED);
  return { usage: total, marks: { ...marks, transcriptPath: path, transcriptBytes, subagentBytes, lastMessageIds } };
}

export type Totals = { -readonly [K in keyof UsageDelta]: number };

export function addTokens(total: Totals, more: UsageDelta): void {
  Object.assign(
    total,
    tokens((kind) => total[kind] + more[kind]),
  );
}

export function messageUsage(usage: Fields): UsageDelta {
  return {
    inputTokens: countOf(usage['input_tokens']),
    outputTokens: countOf(usage['output_tokens']),
    cacheReadTokens: countOf(usage['cache_read_input_tokens']),
    cacheWriteTokens: countOf(usage['cache_creation_input_tokens']),
  };
}

function add(path: string, from: number, ids: Set<string>, total: Totals): number {
  const lines = readLines(path, from, BUDGET, '"usage"');
  for (const { type, message } of lines.entries) {
    if (type !== 'assistant' || typeof message !== 'object' || message === null) continue;
    const { id, usage } = message as { id?: unknown; usage?: Record<string, unknown> };
    if (typeof id !== 'string' || typeof usage !== 'object' || usage === null || ids.has(id)) continue;
    ids.add(id);
    addTokens(total, messageUsage(usage));
  }
  return lines.next;
}

function subagentFiles(path: string): { name: string; path: string }[] {
  const directory = join(path.replace(/\.jsonl$/, ''), 'subagents');
  // Without the folder, no subagent ran in this session.
  const names = orElse(() => readdirSync(directory), []);
  return names.filter((name) => name.endsWith('.jsonl')).map((name) => ({ name, path: join(directory, name) }));
}
