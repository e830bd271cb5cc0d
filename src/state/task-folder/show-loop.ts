import { mkdirSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { LoopEvent, LoopIteration } from '../../engine/schema/records.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { redact, redactRecord } from '../../text/redact/redact.ts';
import { appendLine } from '../files/journal-lines.ts';
import { freePath, writeAtomically } from '../files/regular-file.ts';
import { type LoopDirectory, makeRealDir, pathKind, refuseLink } from './run-files.ts';

/** Content of .gitignore: the projection does not belong to the project's history. */
export const IGNORED = ['/state.json', '/events.jsonl', '/iterations/', '/runs/', '/.ralph-runner*/', ''].join('\n');

/*
 * The projection is for people and programs; no decision reads it. Each function masks secrets, and throws the system's
 * error, or `refused` for links, for the caller to log.
 */
export function showState({ state: path }: LoopDirectory, state: LoopState): void {
  refuseLink(path);
  writeAtomically(path, `${JSON.stringify(redactRecord(state), null, 2)}\n`, 0o600, 'nothing');
}

export function showEvent({ events }: LoopDirectory, event: LoopEvent): void {
  refuseLink(events);
  appendLine(events, redactRecord(event));
}

const SUMMARY_LINES = 3;
const SUMMARY_LIMIT = 500;

export function summaryOf(message: string): string {
  const lines = message.split('\n').filter((line) => line.trim() !== '');
  return redact(lines.slice(0, SUMMARY_LINES).join('\n')).slice(0, SUMMARY_LIMIT);
}

/** Writes `iterations/NNN.json`, or `NNN-2.json` and so on if it exists, as after an idle iteration. */
export function showIteration({ iterationsDir }: LoopDirectory, entry: LoopIteration): void {
  makeRealDir(iterationsDir);
  const path = freePath(join(iterationsDir, String(entry.iteration).padStart(3, '0')), '.json', '-');
  writeAtomically(path, `${JSON.stringify(redactRecord(entry), null, 2)}\n`, 0o600, 'nothing');
}

/** Keeps the projection and this .gitignore out of git, in a directory without one. */
export function keepOutOfGit({ dir }: LoopDirectory): void {
  const path = join(dir, '.gitignore');
  if (pathKind(path) === 'nothing') writeAtomically(path, `/.gitignore\n${IGNORED}`);
}

/** Moves the projection of an earlier run into a folder of `runs/`, named by the instant `at`. */
export function putRunAway(directory: LoopDirectory, at: string): void {
  const { state, events, iterationsDir } = directory;
  const shown = [state, events, iterationsDir].filter((path) => pathKind(path) !== 'nothing');
  if (shown.length === 0) return;
  makeRealDir(directory.runsDir);
  const target = freePath(join(directory.runsDir, at.replaceAll(':', '-')));
  mkdirSync(target);
  for (const path of shown) renameSync(path, join(target, basename(path)));
}
