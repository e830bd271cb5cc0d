import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiError, tokens, type UsageDelta } from '../../../engine/events.ts';
import { readTail } from '../../../state/files/journal-lines.ts';
import { ifOutOfReach } from '../../../state/files/regular-file.ts';
import { redact } from '../../../text/redact/redact.ts';
import { isBefore } from '../../../text/time.ts';
import { apiErrorKind } from '../../agent/classify-run.ts';
import { countOf, type Fields, fieldsOf, listOf, parseFields, textOf, textOrNull } from '../../fields.ts';
import { CANCELLED } from '../../gemini/payload.ts';
import type { SessionError } from '../../host.ts';

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
  const newest = scan(path, promptId, (entry) => {
    const content = fieldsOf(entry['message'])['content'];
    if (entry['type'] !== 'user' || entry['promptId'] !== promptId || typeof content !== 'string') return false;
    return !content.startsWith('<bash-stdout>') && content;
  });
  return newest?.startsWith('<bash-input>') === true;
}

/** Maximum wait for the start of a turn in the transcript; on a busy machine it appears 0.2 s after the Stop hook starts. */
const TRANSCRIPT_WAIT_MS = 500;
const POLL_MS = 25;

/** Returns who began the turn, from the transcript if the loop does not know the prompt; `loop` if neither does. */
export async function originOf(
  { promptId, transcriptPath }: { readonly promptId: string | null; readonly transcriptPath: string | null },
  known: string | null,
  signal: () => AbortSignal,
): Promise<'user' | 'loop'> {
  if (promptId === null || known === null) return 'loop';
  if (known === promptId) return begunByCommand(transcriptPath, promptId) ? 'user' : 'loop';
  if (transcriptSize(transcriptPath) === null) return 'loop';
  for (let waited = 0; ; waited += POLL_MS) {
    const by = begunBy(transcriptPath, promptId);
    if (by !== null) return by;
    if (waited >= TRANSCRIPT_WAIT_MS || signal().aborted) return 'loop';
    await sleep(POLL_MS);
  }
}

/** Returns when the user last interrupted a turn (Esc) after `since`; null if the transcript does not show it. */
export function interruptedAt(path: string, since: string): string | null {
  return interruption(path, (_, time) => (isBefore(since, time) ? time : null));
}

/** Returns whether the user interrupted the turn of this prompt; false if the client does not name it. */
export function wasInterrupted(path: string, promptId: string): boolean {
  const turnOf = (entry: Fields): unknown => entry['promptId'] ?? fieldsOf(entry['payload'])['turn_id'];
  return interruption(path, (entry) => turnOf(entry) === promptId) === true;
}

/** Passes the interruptions in a transcript to `find`, newest first, until it returns anything but false. */
function interruption<T>(path: string, find: (entry: Fields, time: string) => T | false): T | null {
  return readTail(path, TAIL_BYTES, (line) => {
    const entry = /interrupted|cancelled/.test(line) ? parseFields(line) : null;
    return entry !== null && isInterruption(entry) && find(entry, textOf(entry['timestamp']));
  });
}

/** Recognises the end of an interrupted turn in a transcript of Claude Code, Codex and Gemini CLI. */
function isInterruption({ type, message, payload, content, toolCalls, isSidechain }: Fields): boolean {
  const [said] = listOf(fieldsOf(message)['content']);
  if (type === 'user') return isSidechain !== true && textOf(said?.['text']).startsWith('[Request interrupted by user');
  const { type: kind, reason } = fieldsOf(payload);
  const ends = new Set(listOf(toolCalls).map(({ status }) => status));
  if (type === 'info') return content === CANCELLED;
  return (kind === 'turn_aborted' && reason === 'interrupted') || (ends.size === 1 && ends.has('cancelled'));
}

export function blockOverridden(path: string | null, since: string): boolean {
  const overridden = scan(path, '"system"', (entry) => {
    const at = entry['timestamp'];
    if (entry['type'] !== 'system' || (typeof at === 'string' && Date.parse(at) < Date.parse(since))) return false;
    return /blocked the turn from ending|overriding/.test(textOf(entry['content']));
  });
  return overridden === true;
}

export function clientVersion(path: string | null): string | null {
  return scan(path, '', ({ version }) => typeof version === 'string' && version);
}

/**
 * Passes the newest entries whose lines contain `needle` to `find`, newest first, until it returns anything but false. Returns
 * what it found; null if nothing.
 */
export function scan<T>(path: string | null, needle: string, find: (entry: Fields) => T | false): T | null {
  if (path === null) return null;
  return readTail(path, TAIL_BYTES, (line) => {
    const entry = line.includes(needle) ? parseFields(line) : null;
    return entry !== null && find(entry);
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

/** Reads an API failure from StopFailure's payload; only the transcript has the reset time of a usage limit. */
export function apiFailure(payload: Readonly<Record<string, unknown>>, transcriptPath: string | null): ApiError {
  const noted = lastApiError(transcriptPath);
  const kind = apiErrorKind(payload['error'] ?? noted?.kind);
  const message = textOf(payload['last_assistant_message']) || (noted?.message ?? 'no details');
  return {
    kind,
    message: redact(message).slice(0, 500),
    resetsAt: kind === 'rate-limited' ? (noted?.resetsAt ?? null) : null,
  };
}

/** Error with the client's own term as its kind. */
type NotedApiError = Omit<SessionError, 'kind'> & { readonly kind: string };

/** Returns the API error at the end of the transcript; null if its last assistant entry is not an error. */
export function lastApiError(transcriptPath: string | null): NotedApiError | null {
  return scan(transcriptPath, '"assistant"', (entry) => {
    if (entry['type'] !== 'assistant') return false;
    if (entry['isApiErrorMessage'] !== true) return null;
    return {
      kind: textOf(entry['error']),
      message: listOf(fieldsOf(entry['message'])['content'])
        .map(({ text }) => textOf(text))
        .join(' '),
      resetsAt: resetTime(entry['quotaLimits']),
      at: textOrNull(entry['timestamp']),
    };
  });
}

/** Last second that the four-digit year of a state file can represent. */
const LAST_SECOND = 253_402_300_799;

/** Returns the reset time of a usage limit (`resetsAt` in seconds) as ISO-8601 UTC; null if missing or out of range. */
export function resetTime(limits: unknown): string | null {
  const seconds = (limits as { resetsAt?: unknown } | undefined)?.resetsAt;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds <= 0 || seconds > LAST_SECOND) return null;
  return new Date(seconds * 1000).toISOString();
}
