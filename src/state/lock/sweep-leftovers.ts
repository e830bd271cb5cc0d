import { lstatSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isOfDeadProcess, namesIn, removeIfThere } from '../files/regular-file.ts';
import type { LoopFiles } from '../loop-files.ts';
import { tddFiles } from '../tdd-store.ts';
import { ownerLives, readOwner, removeFolder, removeLock } from './owner.ts';

/** Age below which drafts, which normally exist for milliseconds, are left alone. */
const YOUNG_MS = 60_000;

/** Pattern for drafts beside our files: `<file>.<token>` of locks, `.tmp` of atomic writes, `.folder` of folder locks. */
const DRAFT =
  /^(?:ralph-|tdd-|contract\.|counters\.|snapshot|\d{4}-\d\d-\d\dT).*(?:json|lock|look|restoring|\.reap-[0-9a-z]*)\.([0-9a-z]+-[0-9a-z]+-[0-9a-z]{9,})(?:\.tmp|\.folder)?$/;

/** Pattern for reapers' markers: `<lock>.reap-<token's end>`, and markers for markers. */
const MARKER = /^((?:ralph-|tdd-|router\.|runner|worktree|snapshot).*?)\.reap-(.+?)(?:\.reap-|$)/;

/**
 * Removes drafts and reapers' markers of dead processes, and returns their paths. Needs no lock: a draft has one maker, and a
 * marker for a token that is no longer in its lock cannot matter again, because a token is published once.
 */
export function sweepLeftovers(files: LoopFiles, now = Date.now()): string[] {
  const removed: string[] = [];
  for (const directory of [files.runtimeDir, files.archiveDir, tddFiles(files).asideDir, files.outsideDir]) {
    for (const name of namesIn(directory)) {
      const path = join(directory, name);
      const spent = isSpentMarker(path);
      if (!spent && !isOfDeadProcess(DRAFT.exec(name)?.[1] ?? '')) continue;
      const there = lstatSync(path, { throwIfNoEntry: false });
      if (there === undefined || now - there.mtimeMs < YOUNG_MS) continue;
      if (spent) removeLock(path);
      else if (there.isFile()) removeIfThere(path);
      else if (there.isDirectory() && name.endsWith('.folder')) removeFolder(path);
      else continue;
      removed.push(path);
    }
  }
  return removed;
}

/** Returns whether this is the marker of a dead reaper for a token that is no longer in its lock. */
function isSpentMarker(path: string): boolean {
  const [, lockName, first] = MARKER.exec(basename(path)) ?? [];
  if (lockName === undefined || first === undefined) return false;
  const lock = readOwner(join(dirname(path), lockName));
  if (typeof lock === 'object' && lock.token.endsWith(first)) return false;
  const owner = readOwner(path);
  return owner === 'unreadable' || (owner !== 'gone' && !ownerLives(owner, path));
}
