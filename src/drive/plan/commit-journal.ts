import { existsSync, mkdirSync, readFileSync, realpathSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularFile, removeIfThere } from '../../state/files/read-regular-file.ts';
import { writeAtomically } from '../../state/files/write-atomically.ts';
import { lastCommit } from '../../task/git/read-repository.ts';
import { changeByGit } from '../../task/git/run-git.ts';
import { ownPaths, type PlanPlace, progressOf } from './plan-place.ts';

/**
 * What the engine is about to write for a task that passed, noted outside the project before the first byte: a kill
 * between entry, tick and commit is undone by the next comer, and one behind the commit is known by its subject.
 */
export interface Settling {
  readonly loopId: string;
  /** Id of the task. */
  readonly task: string;
  readonly parent: string;
  readonly subject: string;
  /** The plan before and after its box was ticked. */
  readonly before: string;
  readonly after: string;
  /** Bytes of the progress file before; null where there was none. */
  readonly progressBytes: number | null;
  /** What was written behind these. */
  readonly entry: string;
}

const MOST_BYTES = 8 * 1024 * 1024;

function settlingPath({ files }: PlanPlace): string {
  return join(files.outsideDir, `settling${files.name === null ? '' : `.${files.name}`}.json`);
}

export function noteSettling(place: PlanPlace, settling: Settling): void {
  mkdirSync(place.files.outsideDir, { recursive: true, mode: 0o700 });
  writeAtomically(settlingPath(place), JSON.stringify(settling), 0o600);
}

export function dropSettling(place: PlanPlace): void {
  removeIfThere(settlingPath(place));
}

/**
 * Brings what a killed engine left half done to one of its ends: committed, then the id of the task that is done is
 * given; or as if it had never begun. Gives null where nothing was committed. The note of a commit stays until
 * dropSettling, for whoever has not yet told the engine. Throws what the disk says.
 */
export async function recoverSettling(place: PlanPlace): Promise<string | null> {
  const { files, contract, env, signal } = place;
  const settling = readSettling(place);
  if (settling?.loopId === contract.loopId) {
    const last = await lastCommit(files.projectDir, { env, signal });
    if (last?.parent === settling.parent && last.subject === settling.subject) return settling.task;
    await undoSettling(place, settling);
  }
  if (settling !== null) dropSettling(place);
  return null;
}

function readSettling(place: PlanPlace): Settling | null {
  const text = readRegularFile(settlingPath(place), MOST_BYTES);
  try {
    return text === null ? null : (JSON.parse(text) as Settling);
  } catch {
    return null; // written whole or not at all: whatever else this is, it is nothing that was begun
  }
}

/** Takes back the tick and the entry, where they are still as the engine wrote them. */
export async function undoSettling(place: PlanPlace, settling: Settling): Promise<void> {
  const { files, contract, env } = place;
  const plan = join(files.projectDir, contract.taskPath);
  if (readRegularFile(plan, MOST_BYTES) === settling.after) replaceText(plan, settling.before);
  const progress = join(files.projectDir, progressOf(place));
  cutEntry(progress, settling);
  const directory = files.projectDir;
  // What was staged for the commit that did not come. Where git knows none of them there is nothing to unstage.
  for (const path of ownPaths(directory, contract.taskPath)) {
    await changeByGit({ directory, words: ['reset', '--quiet', '--', path], env });
  }
}

/** Cuts the entry from the end of the progress file, or what of it was written before a kill. */
function cutEntry(path: string, { progressBytes, entry }: Settling): void {
  if (!existsSync(path)) return;
  const begin = progressBytes ?? 0;
  const rest = readFileSync(path).subarray(begin);
  const written = Buffer.from(entry);
  if (rest.length === 0 || !written.subarray(0, rest.length).equals(rest)) return;
  if (progressBytes === null) removeIfThere(path);
  else truncateSync(path, begin);
}

/** Puts a text into a file with its mode kept, and behind a link into what the link names. */
export function replaceText(path: string, text: string): void {
  const real = realpathSync(path);
  writeAtomically(real, text, statSync(real).mode & 0o777);
}
