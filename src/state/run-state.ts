import { redactRecord } from '../core/redact.ts';
import type { LoopEvent } from '../core/schema/records.ts';
import type { RunStatus, TaskIterationRecord } from '../core/schema/run-state.ts';
import { appendLine } from './append-line.ts';
import { makeRunDir, type RunFiles, refuseLink } from './run-files.ts';
import { writeAtomically } from './write-atomically.ts';

/*
 * The mirror of a loop in its task folder, for people and programs. The loop's own state decides; nothing is ever read
 * from here to decide anything. Each of these throws what the system says, or `refused` where a link would lead out of
 * the folder: for the caller to log, because a mirror that cannot be written changes no decision.
 */

/** Puts the status where readers find the old one or this one, whole. Secrets are masked. */
export function mirrorStatus(files: RunFiles, status: RunStatus): void {
  makeRunDir(files);
  writeAtomically(files.status, `${JSON.stringify(redactRecord(status), null, 2)}\n`);
}

/** Appends an iteration as one line. Secrets are masked. */
export function mirrorIteration(files: RunFiles, record: TaskIterationRecord): void {
  append(files, files.iterations, record);
}

/** Appends an event as one line. Secrets are masked. */
export function mirrorEvent(files: RunFiles, event: LoopEvent): void {
  append(files, files.events, event);
}

function append(files: RunFiles, path: string, entry: object): void {
  makeRunDir(files);
  refuseLink(path);
  appendLine(path, redactRecord(entry));
}
