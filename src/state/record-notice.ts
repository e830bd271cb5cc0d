import { mkdirSync, renameSync, statSync } from 'node:fs';
import type { LoopNotice } from '../engine/schema/records.ts';
import type { LoopState } from '../engine/schema/state.ts';
import { appendEvent } from './event-stream.ts';
import { appendLine } from './files/journal-lines.ts';
import { type LoopFiles, orLogged } from './loop-files.ts';
import { formerOf, readNotices } from './notices.ts';

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
  if ((statSync(files.notices, { throwIfNoEntry: false })?.size ?? 0) > MOST_BYTES)
    renameSync(files.notices, formerOf(files));
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  const notice: LoopNotice = { ...common, kind, text: message, ...(key !== undefined && { key }), details };
  appendLine(files.notices, notice);
  const event = { type: `notice.${kind}`, ...common, message, ...details };
  orLogged(files, at, 'journal', () => appendEvent(files, event));
}
