import { statSync } from 'node:fs';
import { tokens, type UsageDelta } from '../../../engine/events.ts';
import { readTail } from '../../../state/files/journal-lines.ts';
import { ifOutOfReach } from '../../../state/files/regular-file.ts';
import { isBefore } from '../../../text/time.ts';
import { countOf, type Fields, fieldsOf, listOf, parseFields, textOf } from '../../fields.ts';

/** Number of bytes to search for events of this turn; a turn writes far less. */
const TAIL_BYTES = 1024 * 1024;

/** Returns the origin of this prompt's turn: `user` for a user's own command (`!ls`) or queued message; null if unknown. */
export function begunBy(path: string | null, promptId: string): 'user' | 'loop' | null {
  let by: 'user' | 'loop' | null = null;
  scan(path, promptId, (entry) => {
    if (entry['type'] !== 'user' || entry['promptId'] !== promptId || entry['isMeta'] === true) return false;
    const content = fieldsOf(entry['message'])['content'];
    const command = typeof content === 'string' && content.startsWith('<bash-input>');
    by = entry['promptSource'] === 'queued' || command ? 'user' : 'loop';
    return by === 'user';
  });
  return by;
}

/** Returns whether the user's `!ls` began this turn: clients before 2.1.250 give it the id of the previous prompt. */
export function begunByCommand(path: string | null, promptId: string): boolean {
  let isCommand = false;
  scan(path, promptId, (entry) => {
    const content = fieldsOf(entry['message'])['content'];
    if (entry['type'] !== 'user' || entry['promptId'] !== promptId || typeof content !== 'string') return false;
    isCommand = content.startsWith('<bash-input>');
    return isCommand || !content.startsWith('<bash-stdout>');
  });
  return isCommand;
}

/** Returns when the user last interrupted a turn (Esc) after `since`; null if the transcript of no client shows one. */
export function interruptedAt(path: string, since: string): string | null {
  let at: string | null = null;
  readTail(path, TAIL_BYTES, (line) => {
    const entry = /interrupted|cancelled/.test(line) ? parseFields(line) : null;
    const time = textOf(entry?.['timestamp']);
    if (entry === null || !isInterruption(entry)) return false;
    at = isBefore(since, time) ? time : null;
    return true;
  });
  return at;
}

/** Knows the end of an interrupted turn in a transcript of Claude Code, Codex and Gemini CLI, which shows it of a call alone. */
function isInterruption({ type, message, payload, toolCalls, isSidechain }: Fields): boolean {
  const [said] = listOf(fieldsOf(message)['content']);
  if (type === 'user') return isSidechain !== true && textOf(said?.['text']).startsWith('[Request interrupted by user');
  const { type: kind, reason } = fieldsOf(payload);
  const calls = listOf(toolCalls);
  return (
    (kind === 'turn_aborted' && reason === 'interrupted') ||
    (calls.length > 0 && calls.every(({ status }) => status === 'cancelled'))
  );
}

export function blockOverridden(path: string | null, since: string): boolean {
  let overridden = false;
  scan(path, '"system"', (entry) => {
    const at = entry['timestamp'];
    if (entry['type'] !== 'system' || (typeof at === 'string' && Date.parse(at) < Date.parse(since))) return false;
    overridden = /blocked the turn from ending|overriding/.test(textOf(entry['content']));
    return overridden;
  });
  return overridden;
}

export function clientVersion(path: string | null): string | null {
  let version: string | null = null;
  scan(path, '', (entry) => {
    if (typeof entry['version'] === 'string') version = entry['version'];
    return version !== null;
  });
  return version;
}

/** Passes the newest entries whose lines contain `needle` to `visit`, newest first, until it returns true. */
export function scan(path: string | null, needle: string, visit: (entry: Fields) => boolean): void {
  if (path === null) return;
  readTail(path, TAIL_BYTES, (line) => {
    if (!line.includes(needle)) return false;
    const entry = parseFields(line);
    return entry !== null && visit(entry);
  });
}

export function transcriptSize(path: string | null): number | null {
  return ifOutOfReach(() => (path === null ? null : statSync(path).size), null);
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
