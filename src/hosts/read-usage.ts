import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { tokens, type UsageDelta } from '../engine/events.ts';
import type { ReadMarks } from '../engine/schema/state.ts';
import { readOn } from '../state/files/journal-lines.ts';
import { ifOutOfReach } from '../state/files/regular-file.ts';
import { addTokens, messageUsage, type Totals, transcriptSize } from './claude/transcript/transcript.ts';
import { codexBilled } from './codex/rollout.ts';
import { countOf, type Fields, fieldsOf, isFields, textOf } from './fields.ts';

/** Number of remembered ids: the lines of one message are adjacent, so a few are enough to count it once. */
const REMEMBERED = 16;

/** Sums the tokens used since the marks, including subagents. A new transcript is counted from its present end. */
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

function add(path: string, from: number, ids: Set<string>, total: Totals): number {
  const lines = readOn(path, from, (line) => line.includes('"usage"') || line.includes('"tokens"'));
  for (const entry of lines.entries) {
    const { id, usage } = claudeBilled(entry) ?? codexBilled(entry) ?? geminiBilled(entry) ?? {};
    if (id === undefined || usage === undefined || ids.has(id)) continue;
    ids.add(id);
    addTokens(total, usage);
  }
  return lines.next;
}

/** Returns what a line of Claude Code's transcript bills; null for any other line. */
function claudeBilled({ type, message }: Fields): { readonly id: string; readonly usage: UsageDelta } | null {
  if (type !== 'assistant' || !isFields(message)) return null;
  const { id, usage } = message;
  return typeof id === 'string' && isFields(usage) ? { id, usage: messageUsage(usage) } : null;
}

/** Returns what a line of Gemini CLI's transcript bills; else null. A message is written again with its calls' results. */
function geminiBilled({ type, id, tokens }: Fields): { readonly id: string; readonly usage: UsageDelta } | null {
  const { input, cached, output, thoughts, tool } = fieldsOf(tokens);
  if (type !== 'gemini' || textOf(id) === '' || tokens === undefined) return null;
  const usage = {
    inputTokens: Math.max(0, countOf(input) - countOf(cached)) + countOf(tool),
    outputTokens: countOf(output) + countOf(thoughts),
    cacheReadTokens: countOf(cached),
    cacheWriteTokens: 0,
  };
  return { id: textOf(id), usage };
}

function subagentFiles(path: string): { name: string; path: string }[] {
  const directory = join(path.replace(/\.jsonl$/, ''), 'subagents');
  // Without the folder, no subagent ran in this session.
  const names = ifOutOfReach(() => readdirSync(directory), []);
  return names.filter((name) => name.endsWith('.jsonl')).map((name) => ({ name, path: join(directory, name) }));
}
