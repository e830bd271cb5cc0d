import { lstatSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { removeIfThere } from '../files/read-regular-file.ts';
import { UNIQUE_TOKEN } from '../files/write-atomically.ts';
import type { LoopFiles } from '../loop-files.ts';
import { isAlive } from '../process/identity.ts';
import { tddFiles } from '../tdd-store.ts';
import { type FoundOwner, ownerLives, readOwner } from './owner.ts';
import { removeFolder, removeLock } from './publish.ts';

/** A draft lives for milliseconds. Younger ones are left alone, whoever made them: their maker may be on its way. */
const YOUNG_MS = 60_000;

/**
 * The drafts of locks, of atomic writes and of locks without hard links: `<file>.<token>`, then `.tmp` or `.folder`. Only
 * beside files that are ours: other tools keep theirs in the same folder.
 */
const DRAFT =
  /^(?:ralph-|tdd-|contract\.|\d{4}-\d\d-\d\dT).*(?:json|lock|\.reap-[0-9a-z]*)\.([0-9a-z]+-[0-9a-z]+-[0-9a-z]{9,})(?:\.tmp|\.folder)?$/;

/** The marker of a reaper for one of our locks, whichever loop's: `<lock>.reap-<token's end>`, and markers for markers. */
const MARKER = /^((?:ralph-|tdd-|router\.|runner|worktree).*?)\.reap-(.+?)(?:\.reap-|$)/;

/**
 * Removes what processes left behind that died in the middle of a step: drafts, and markers of reapers. Gives back the
 * paths. Never the state, a journal, an archived loop or a lock. Needs no lock itself: a draft has one maker, and a
 * marker for a token that no longer stands in its lock can never matter again, because a token is published once.
 */
export function sweepLeftovers(files: LoopFiles, now = Date.now()): string[] {
  const removed: string[] = [];
  for (const directory of [files.runtimeDir, files.archiveDir, tddFiles(files).asideDir, files.outsideDir]) {
    for (const name of namesIn(directory)) {
      const path = join(directory, name);
      const spent = isSpentMarker(path);
      if (!spent && !isDeadDraft(name)) continue;
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

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function isDeadDraft(name: string): boolean {
  const token = DRAFT.exec(name)?.[1];
  const pid = token === undefined ? undefined : UNIQUE_TOKEN.exec(token)?.[1];
  return pid !== undefined && !isAlive({ pid: Number.parseInt(pid, 36), startedAt: null });
}

/** A marker of a dead reaper for a token that is gone from its lock. The one for a lock without owner has no token. */
function isSpentMarker(path: string): boolean {
  const [, lockName, first] = MARKER.exec(basename(path)) ?? [];
  if (lockName === undefined || first === undefined) return false;
  const lock = readOwner(join(dirname(path), lockName));
  if (typeof lock === 'object' && lock.token.endsWith(first)) return false;
  const owner: FoundOwner = readOwner(path);
  return owner === 'unreadable' || (owner !== 'gone' && !ownerLives(owner, path));
}
