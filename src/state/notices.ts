import type { ShownNotice } from '../engine/end-report.ts';
import type { LoopNotice } from '../engine/schema/records.ts';
import { readLines } from './files/journal-lines.ts';
import type { LoopFiles } from './loop-files.ts';

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

/** Returns the path of the older notices, kept beside the newer ones. */
export function formerOf({ notices }: LoopFiles): string {
  return `${notices}.1`;
}
