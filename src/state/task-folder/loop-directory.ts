import { mkdirSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { LoopEvent } from '../../engine/schema/records.ts';
import type { LoopIteration } from '../../engine/schema/run-status.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { redact, redactRecord } from '../../text/redact/redact.ts';
import { appendLine } from '../files/journal-lines.ts';
import { writeAtomically } from '../files/write-atomically.ts';
import { makeRealDir, refuseLink, whatLies } from './run-files.ts';

/** What belongs to a loop beside its task file, in its directory. All paths are absolute. */
export interface LoopDirectory {
  readonly dir: string;
  /** Settings of this loop. */
  readonly config: string;
  /** What the agent is asked to reflect on, in place of the default. */
  readonly reflect: string;
  /** What the loop shows of itself: its state, its events, and one file for each iteration. */
  readonly state: string;
  readonly events: string;
  readonly iterationsDir: string;
  /** Where what earlier runs showed is put. */
  readonly runsDir: string;
}

/** The files of a loop directory. Touches nothing. */
export function loopDirectoryIn(dir: string): LoopDirectory {
  return {
    dir,
    config: join(dir, 'config.json'),
    reflect: join(dir, 'reflect.md'),
    state: join(dir, 'state.json'),
    events: join(dir, 'events.jsonl'),
    iterationsDir: join(dir, 'iterations'),
    runsDir: join(dir, 'runs'),
  };
}

/** All but what its users write: what the loop shows is the loop's own. */
export function shownIn({ state, events, iterationsDir, runsDir }: LoopDirectory): readonly string[] {
  return [state, events, iterationsDir, runsDir];
}

/** For git: what a loop shows is no part of the project's history; its task, settings and reflection are. */
export const IGNORED = ['/state.json', '/events.jsonl', '/iterations/', '/runs/', '/.ralph-runner*/', ''].join('\n');

/*
 * What a loop shows in its directory, for people and programs. Nothing is ever read from here to decide anything. Each of
 * these masks secrets, and throws what the system says, or `refused` where a link would lead out of the directory: for
 * the caller to log.
 */

/** Puts the state where readers find the old one or this one, whole. */
export function showState({ state: path }: LoopDirectory, state: LoopState): void {
  refuseLink(path);
  writeAtomically(path, `${JSON.stringify(redactRecord(state), null, 2)}\n`);
}

/** Appends an event as one line. */
export function showEvent({ events }: LoopDirectory, event: LoopEvent): void {
  refuseLink(events);
  appendLine(events, redactRecord(event));
}

const SUMMARY_LINES = 3;
const SUMMARY_LIMIT = 500;

/** The first lines of a message that say something. */
export function summaryOf(message: string): string {
  const lines = message.split('\n').filter((line) => line.trim() !== '');
  return redact(lines.slice(0, SUMMARY_LINES).join('\n')).slice(0, SUMMARY_LIMIT);
}

/**
 * Writes `iterations/NNN.json`. One that is there, of an idle iteration, is never overwritten: the next is `NNN-2.json`
 * and so on.
 */
export function showIteration({ iterationsDir }: LoopDirectory, entry: LoopIteration): void {
  makeRealDir(iterationsDir);
  const stem = String(entry.iteration).padStart(3, '0');
  for (let copy = 1; ; copy++) {
    const path = join(iterationsDir, `${stem}${copy === 1 ? '' : `-${copy}`}.json`);
    if (whatLies(path) !== 'nothing') continue;
    writeAtomically(path, `${JSON.stringify(redactRecord(entry), null, 2)}\n`);
    return;
  }
}

/** Keeps what a loop shows out of git, in a directory that somebody made by hand; that word itself, too. */
export function keepOutOfGit({ dir }: LoopDirectory): void {
  const path = join(dir, '.gitignore');
  if (whatLies(path) === 'nothing') writeAtomically(path, `/.gitignore\n${IGNORED}`);
}

/** Moves what an earlier run showed into a folder of `runs/` that is named by the instant `at`; nothing is lost. */
export function putRunAway(directory: LoopDirectory, at: string): void {
  const shown = [directory.state, directory.events, directory.iterationsDir].filter(
    (path) => whatLies(path) !== 'nothing',
  );
  if (shown.length === 0) return;
  makeRealDir(directory.runsDir);
  const stem = join(directory.runsDir, at.replaceAll(':', '-'));
  let target = stem;
  for (let copy = 2; whatLies(target) !== 'nothing'; copy++) target = `${stem}.${copy}`;
  mkdirSync(target);
  for (const path of shown) renameSync(path, join(target, basename(path)));
}
