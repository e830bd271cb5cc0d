import { mkdirSync, renameSync, statSync } from 'node:fs';
import { appendLine } from './files/journal-lines.ts';
import type { LoopFiles } from './loop-files.ts';

const MAX_BYTES = 1024 * 1024;

/** Notes a failure or a decision for whoever looks later. Never throws: a full disk must not change a decision. */
export function log(files: LoopFiles, at: string, where: string, message: string): void {
  try {
    mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
    if (size(files.log) > MAX_BYTES) renameSync(files.log, `${files.log}.1`);
    appendLine(files.log, { at, pid: process.pid, where, message });
  } catch {
    // There is no third place to complain: stdout belongs to the protocol and stderr to nobody.
  }
}

function size(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}
