import { mkdirSync, renameSync, statSync } from 'node:fs';
import { EVENT_VERSION } from '../engine/schema/constants.ts';
import type { IterationRecord, LoopNotice } from '../engine/schema/records.ts';
import type { LoopState } from '../engine/schema/state.ts';
import { jsonOrNull } from '../text/json.ts';
import { redact } from '../text/redact/redact.ts';
import { isBefore } from '../text/time.ts';
import { appendLine, readLines, readTail } from './files/journal-lines.ts';
import { formerOf, type LoopFiles, orLogged, readNotices } from './loop-files.ts';

/** Maximum size of an event as JSON, in bytes. */
const MOST_BYTES = 64 * 1024;
/** Length to which the texts of a larger event are cut. */
const MOST_TEXT = 12_000;
/** Size of the stream's end that is searched for a record: more than one iteration writes. */
export const STREAM_BYTES = 64 * 1024 * 1024;

/** Keys whose values come from the program itself. */
const OWN = new Set(['type', 'at', 'loopId', 'callId', 'startedAt', 'endedAt']);

export type Entry = Readonly<Record<string, unknown>>;

/** Returns an event as stored in the stream: with its version, with secrets masked, at most 64 KiB of JSON. */
export function streamed(event: object): Entry {
  const masked = JSON.stringify({ v: EVENT_VERSION, ...event }, (key, value: unknown) =>
    typeof value === 'string' && !OWN.has(key) ? redact(value) : value,
  );
  const whole = JSON.parse(masked) as Entry;
  for (let limit = MOST_TEXT, cut: Entry = whole; ; limit = Math.floor(limit / 2)) {
    if (Buffer.byteLength(JSON.stringify(cut)) < MOST_BYTES || limit === 0) return cut;
    cut = shortened(whole, limit);
  }
}

/** Cuts long texts and lists at any depth. */
function shortened(event: Entry, limit: number): Entry {
  const cut = JSON.stringify(event, (_key, value: unknown) => {
    if (Array.isArray(value)) return value.slice(0, limit);
    if (typeof value !== 'string' || value.length <= limit) return value;
    return `${value.slice(0, limit)}… (${value.length} characters)`;
  });
  return JSON.parse(cut) as Entry;
}

/** Appends an event to the stream of a loop. Throws the system's error. */
export function appendEvent(files: LoopFiles, event: object): void {
  appendLine(files.events, streamed(event));
}

/** Returns the loop's latest event of one of these types, or whose type begins with one (`loop.`); null if none. */
export function lastWhere(files: LoopFiles, loopId: string, types: readonly string[]): Entry | null {
  return readBackwards(files, loopId, STREAM_BYTES, types, (event) => {
    // A type given in full always matches; a prefix may also match activities, which are skipped.
    const isOne = !isActivity(event['type']) || types.includes(String(event['type']));
    return isOne && event;
  });
}

/** Returns the record of the last iteration of a loop; null before its first. */
export function lastRecord(files: LoopFiles, loopId: string): IterationRecord | null {
  const found = lastWhere(files, loopId, ['loop.started', 'iteration.ended']);
  return Number.isInteger(found?.['iteration']) ? (found as unknown as IterationRecord) : null;
}

/** Returns when the driver last showed life: at its latest turn, decision, or event but notices and the user's commands. */
export function lastSeen(files: LoopFiles, { loopId, lastRunAt, lastDecision }: LoopState): string {
  const find = ({ type, at }: Entry): string | false => !/^(?:operator|notice)\./.test(String(type)) && String(at);
  const event = readBackwards(files, loopId, STREAM_BYTES, [''], find);
  const signs = [lastRunAt, lastDecision?.at ?? lastRunAt, event ?? lastRunAt];
  return signs.reduce((last, sign) => (isBefore(last, sign) ? sign : last));
}

/**
 * Passes the loop's events whose types begin with one of `types` (a function is asked again each time) to `find`, newest
 * first, until it returns anything but false. Returns what it found; null if nothing.
 */
export function readBackwards<T>(
  files: LoopFiles,
  loopId: string,
  budget: number,
  types: readonly string[] | (() => readonly string[]),
  find: (event: Entry) => T | false,
): T | null {
  const wanted = typeof types === 'function' ? types : () => types;
  const isWanted = (type: string): boolean => wanted().some((one) => type.startsWith(one));
  const look = (line: string): T | false => {
    const type = typeIn(line);
    if ((type !== null && !isWanted(type)) || !line.includes(loopId)) return false;
    const event = jsonOrNull(line) as Entry | null;
    return event?.['loopId'] === loopId && isWanted(String(event['type'])) && find(event);
  };
  return readTail(files.events, budget, look, wanted);
}

/** Pattern for the activity of agent, client and checks, as opposed to decisions of the engine. */
const ACTIVITY =
  /^(?:(?:tool|command|verification|check|wait|run)\.|agent\.(?!ended$)|steering\.(?!delivered$)|iteration\.(?:started|ended)$)/;

/** Number of bytes read from a stream at once: few enough events for later ones to reuse their memory. */
const STEP_BYTES = 1024 * 1024;

const TYPE = /^\{"v":\d{1,9},"type":"([\w.-]{1,100})"/;

/** Returns the type of an event from the beginning of its line, as this program writes it; null for any other line. */
export function typeIn(line: string): string | null {
  return TYPE.exec(line)?.[1] ?? null;
}

export function isActivity(type: unknown): boolean {
  return ACTIVITY.test(String(type));
}

/**
 * Passes the events of a loop whose type and line `isWanted` accepts to `take`, oldest first, from byte `from` on; returns
 * where the next read starts.
 */
export function readStream(
  files: LoopFiles,
  loopId: string,
  from: number,
  take: (event: Entry) => void,
  isWanted: (type: string, line: string) => boolean = () => true,
): number {
  // Each line is handled at once, so that only one event of a long stream is in memory.
  const takeLine = (line: string): boolean => {
    const type = typeIn(line);
    if (!line.includes(loopId) || (type !== null && !isWanted(type, line))) return false;
    const entry = jsonOrNull(line) as Entry | null;
    if (entry?.['loopId'] === loopId && (type !== null || isWanted(String(entry['type']), line))) take(entry);
    return false;
  };
  for (let next = from; ; ) {
    const lines = readLines(files.events, next, STEP_BYTES, takeLine);
    if (lines.next === next) return next;
    next = lines.next;
  }
}

/** Maximum size of the notices; a larger file becomes the older one, which is kept beside it. */
const MOST_NOTICE_BYTES = 1024 * 1024;

/**
 * Records a notice for the end report, status, explain and archive: first outside the project, where a confined agent cannot
 * remove it, then as the event `notice.KIND` in the journal. Call this before the action, so that a crash leaves one notice
 * too many, not one too few. Throws if it cannot be stored.
 */
export function recordNotice(
  files: LoopFiles,
  { loopId, iteration }: Pick<LoopState, 'loopId' | 'iteration'>,
  { at, kind, text, key, details = {} }: Omit<LoopNotice, 'loopId' | 'iteration'>,
): void {
  if (key !== undefined && readNotices(files).some((known) => known.loopId === loopId && known.key === key)) return;
  const common = { at, loopId, iteration };
  const message = text.replaceAll('\n', ' ');
  if ((statSync(files.notices, { throwIfNoEntry: false })?.size ?? 0) > MOST_NOTICE_BYTES)
    renameSync(files.notices, formerOf(files));
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  const notice: LoopNotice = { ...common, kind, text: message, ...(key !== undefined && { key }), details };
  appendLine(files.notices, notice);
  const event = { type: `notice.${kind}`, ...common, message, ...details };
  orLogged(files, at, 'journal', () => appendEvent(files, event));
}
