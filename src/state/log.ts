import { mkdirSync, renameSync, statSync } from 'node:fs';
import { appendLine } from './files/journal-lines.ts';
import type { LoopFiles } from './loop-files.ts';

/** `where` of a hook's message that a launcher repeats, followed by the loop's id. */
export const REPEATED = 'message to the user of loop';

const MAX_BYTES = 1024 * 1024;

/** Writes a failure or a decision to the log. Never throws: a full disk must not change a decision. */
export function log(files: LoopFiles, at: string, where: string, message: string): void {
  try {
    mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
    const { size = 0 } = statSync(files.log, { throwIfNoEntry: false }) ?? {};
    if (size > MAX_BYTES) renameSync(files.log, `${files.log}.1`);
    appendLine(files.log, { at, pid: process.pid, where, message });
  } catch {
    // There is no third place to report to: stdout and stderr belong to the protocol.
  }
}
