import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from '../../engine/schema/run.ts';
import { removeIfThere } from '../../state/files/regular-file.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { keptFiles } from '../worktree/remove-worktree.ts';
import { worktreePlaces } from '../worktree/worktree-place.ts';
import { archivedBatches } from './batch.ts';
import { holdsLoop } from './project-runs.ts';
import type { Where } from './run-of-batch.ts';
import { runOfBatch } from './run-of-batch.ts';

/** Archived run with what was kept of its loops. */
export interface OldRun {
  readonly file: string;
  readonly run: Run;
  /** Folders with state and journals of its loops. */
  readonly folders: readonly string[];
  /** Its worktrees that are there, with their branches and loops. */
  readonly worktrees: readonly string[];
}

/** Returns the archived runs that ended before an instant (epoch milliseconds), oldest first, without unreadable ones. */
export function runsBefore({ projectDir, env, at }: Where, before: number): OldRun[] {
  const there = new Set(worktreePlaces(projectDir).map(({ name }) => name));
  return archivedBatches(projectDir, env).flatMap(({ file, batch }): OldRun[] => {
    if (batch === null || Date.parse(batch.ended?.at ?? '') >= before) return [];
    const run = runOfBatch(batch, { projectDir, env, at });
    const folders = run.tasks.flatMap(({ loop }) => {
      // A folder of the same name may be that of a newer loop.
      if (loop?.name == null || loop.loopId === null || there.has(loop.name)) return [];
      const kept = keptFiles(projectDir, loop.name, env).filter((files) => holdsLoop(files, loop.loopId, env));
      return kept.map((files) => files.projectDir);
    });
    return [{ file, run, folders, worktrees: batch.tasks.map(({ name }) => name).filter((name) => there.has(name)) }];
  });
}

/** Removes the record of a run, and what was kept of its loops. Worktrees, branches and commits stay. */
export function pruneRun({ projectDir, env }: Where, { file, folders }: OldRun): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  removeIfThere(join(loopFiles(projectDir, null, env).runsDir, file));
}
