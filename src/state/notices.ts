import { mkdirSync, renameSync, statSync } from 'node:fs';
import type { ShownNotice } from '../engine/end-report.ts';
import type { LoopNotice } from '../engine/schema/records.ts';
import type { LoopState } from '../engine/schema/state.ts';
import { appendEvent } from './event-stream.ts';
import { appendLine, readLines } from './files/journal-lines.ts';
import { type LoopFiles, orLogged } from './loop-files.ts';

/** Maximum size; a larger file becomes the former one, which is kept beside it. */
const MOST_BYTES = 1024 * 1024;

/**
 * Records a notice for the end report, status, explain and archive: first outside the project, where a confined agent cannot
 * remove it, then as the event `notice.KIND` in the journal. Call this before the action, so that a crash leaves one notice
 * too many, not too few. Throws if it cannot be stored.
 */
export function recordNotice(
  files: LoopFiles,
  { loopId, iteration }: Pick<LoopState, 'loopId' | 'iteration'>,
  { at, kind, text, key, details = {} }: Omit<LoopNotice, 'loopId' | 'iteration'>,
): void {
  if (key !== undefined && readNotices(files).some((known) => known.loopId === loopId && known.key === key)) return;
  const common = { at, loopId, iteration };
  const message = text.replaceAll('\n', ' ');
  if ((statSync(files.notices, { throwIfNoEntry: false })?.size ?? 0) > MOST_BYTES) {
    renameSync(files.notices, formerOf(files));
  }
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  const notice: LoopNotice = { ...common, kind, text: message, ...(key !== undefined && { key }), details };
  appendLine(files.notices, notice);
  const event = { type: `notice.${kind}`, ...common, message, ...details };
  orLogged(files, at, 'journal', () => appendEvent(files, event));
}

/** Returns the notices of a loop, oldest first. */
export function noticesOf(files: LoopFiles, loopId: string): ShownNotice[] {
  return readNotices(files)
    .filter((notice) => notice.loopId === loopId)
    .map(({ at, kind, text }) => ({ at, kind, text }));
}

/** Returns the notices of all loops of these files, oldest first. */
export function readNotices(files: LoopFiles): LoopNotice[] {
  return [formerOf(files), files.notices]
    .flatMap((path) => readLines(path).entries as readonly LoopNotice[])
    .filter(({ text }) => typeof text === 'string');
}

function formerOf({ notices }: LoopFiles): string {
  return `${notices}.1`;
}
