import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { jsonOrNull } from '../../text/or-else.ts';
import { readRegularFile, removeIfThere, writeAtomically } from '../files/regular-file.ts';
import { hasRunDir, isRealDir, makeRunDir, type RunFiles, whatLies } from './run-files.ts';

/** Age from which a heartbeat is written again. */
export const BEAT_MS = 60_000;
/** Age from which a loop without a heartbeat is not running. */
export const DEAD_MS = 30 * 60_000;
const MAX_BYTES = 4096;

export interface Heartbeat {
  readonly loopId: string;
  readonly at: string;
}

/** Writes a loop's heartbeat, unless the last one is younger than a minute. Throws `refused` for links. */
export function beat(files: RunFiles, loopId: string, at: string): void {
  const path = beatPath(files, loopId);
  const last = hasActiveDir(files) ? readBeat(path) : null;
  if (last !== null && last.loopId === loopId && distance(last.at, at) < BEAT_MS) return;
  makeRunDir(files, files.activeDir);
  writeAtomically(path, `${JSON.stringify({ loopId, at })}\n`);
}

export function endBeat(files: RunFiles, loopId: string): void {
  if (hasActiveDir(files)) removeIfThere(beatPath(files, loopId));
}

/** Removes heartbeats that are half an hour old or unreadable, and returns the others. */
export function prune(files: RunFiles, at: string): Heartbeat[] {
  return beatsIn(files).flatMap(({ path, last }) => {
    if (last !== null && isFresh(last, at)) return [last];
    // An unreadable one may be about to be written: only its age decides.
    if (last !== null || distance(new Date(statSync(path).mtimeMs).toISOString(), at) >= DEAD_MS) removeIfThere(path);
    return [];
  });
}

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

/** Returns a file name made from a loop's id, whatever it holds. */
function beatPath(files: RunFiles, loopId: string): string {
  return join(files.activeDir, `${loopId.replace(/[^\w-]/g, '_').slice(0, 128)}.json`);
}

function readBeat(path: string): Heartbeat | null {
  if (whatLies(path) !== 'file') return null;
  const { loopId, at } = (jsonOrNull(readRegularFile(path, MAX_BYTES) ?? '') ?? {}) as Partial<Heartbeat>;
  if (typeof loopId !== 'string' || typeof at !== 'string') return null;
  return Number.isNaN(Date.parse(at)) ? null : { loopId, at };
}

function isFresh(last: Heartbeat, at: string): boolean {
  return distance(last.at, at) < DEAD_MS;
}

/** In either direction: the clock may have been set back since. */
function distance(a: string, b: string): number {
  return Math.abs(Date.parse(a) - Date.parse(b));
}
