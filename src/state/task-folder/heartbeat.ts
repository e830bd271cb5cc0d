import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularFile, removeIfThere } from '../files/read-regular-file.ts';
import { writeAtomically } from '../files/write-atomically.ts';
import { hasRunDir, isRealDir, makeRunDir, type RunFiles, whatLies } from './run-files.ts';

/** A sign of life this old is written anew. */
export const BEAT_MS = 60_000;
/** A loop that gave no sign of life for so long is none that runs. */
export const DEAD_MS = 30 * 60_000;
const MAX_BYTES = 4096;

/** A loop that runs in a task folder, and its last sign of life. */
export interface Heartbeat {
  readonly loopId: string;
  readonly at: string;
}

/** Gives a loop's sign of life, unless the last one is younger than a minute. Throws as the rest of the run state does. */
export function beat(files: RunFiles, loopId: string, at: string): void {
  const path = beatPath(files, loopId);
  const last = hasActiveDir(files) ? readBeat(path) : null;
  if (last !== null && last.loopId === loopId && distance(last.at, at) < BEAT_MS) return;
  makeRunDir(files, files.activeDir);
  writeAtomically(path, `${JSON.stringify({ loopId, at })}\n`);
}

/** The loop is over: its sign of life goes. */
export function endBeat(files: RunFiles, loopId: string): void {
  if (hasActiveDir(files)) removeIfThere(beatPath(files, loopId));
}

/** Removes the signs of life that are half an hour old or cannot be read, and gives back the loops that stay. */
export function prune(files: RunFiles, at: string): Heartbeat[] {
  return beatsIn(files).flatMap(({ path, last }) => {
    if (last !== null && isFresh(last, at)) return [last];
    // One that cannot be read may be on its way: only its age tells.
    if (last !== null || distance(new Date(statSync(path).mtimeMs).toISOString(), at) >= DEAD_MS) removeIfThere(path);
    return [];
  });
}

/** The loops that gave a sign of life within half an hour. Changes nothing. */
export function liveBeats(files: RunFiles, at: string): Heartbeat[] {
  return beatsIn(files).flatMap(({ last }) => (last !== null && isFresh(last, at) ? [last] : []));
}

function beatsIn(files: RunFiles): { readonly path: string; readonly last: Heartbeat | null }[] {
  if (!hasActiveDir(files)) return [];
  return readdirSync(files.activeDir)
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(files.activeDir, name))
    .filter((path) => whatLies(path) === 'file')
    .map((path) => ({ path, last: readBeat(path) }));
}

function hasActiveDir(files: RunFiles): boolean {
  return hasRunDir(files) && isRealDir(files.activeDir);
}

/** A loop's id names its file, whatever it holds. */
function beatPath(files: RunFiles, loopId: string): string {
  return join(files.activeDir, `${loopId.replace(/[^\w-]/g, '_').slice(0, 128)}.json`);
}

function readBeat(path: string): Heartbeat | null {
  if (whatLies(path) !== 'file') return null;
  try {
    const { loopId, at } = JSON.parse(readRegularFile(path, MAX_BYTES) ?? '') as Record<string, unknown>;
    return typeof loopId === 'string' && typeof at === 'string' && !Number.isNaN(Date.parse(at))
      ? { loopId, at }
      : null;
  } catch {
    return null; // half written by somebody else, or no sign of life at all
  }
}

function isFresh(last: Heartbeat, at: string): boolean {
  return distance(last.at, at) < DEAD_MS;
}

/** Either way: a sign of life from the future was given before the clock was set back. */
function distance(a: string, b: string): number {
  return Math.abs(Date.parse(a) - Date.parse(b));
}
