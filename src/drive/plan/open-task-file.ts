import type { Baseline } from '../../engine/schema/proof.ts';
import type { EvidenceOf } from '../../state/evidence/entries.ts';
import { forgetEvidence, isWhole, readEvidence, storeEvidence } from '../../state/evidence/evidence.ts';
import { evidenceJson, evidenceLost } from '../../state/evidence/lost.ts';
import { readRegularFile, removeIfThere } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

/** The open task: baseline of its attempts, and rules that the guard enforces. */
export interface OpenTask {
  readonly loopId: string;
  readonly id: string;
  readonly title: string;
  readonly text: string;
  /** Paths and globs relative to the project; empty means the whole project. */
  readonly scope: readonly string[];
  readonly planPath: string;
  readonly progressPath: string;
  /** HEAD and branch when the task was opened. */
  readonly commit: string;
  readonly branch: string;
  /** Files with uncommitted changes at that time, and the marks of their contents; absent in a file of an older version. */
  readonly dirty: readonly string[];
  readonly dirtyMarks?: Readonly<Record<string, string>>;
  /** Results of the checks at that time; absent if they are unknown. */
  readonly baseline?: Baseline;
  /** Results of the checks once the task is done. */
  readonly verified?: Baseline;
  /** Keys of the tasks that need no change, as the user started or resumed the loop. */
  readonly noChange?: readonly string[];
  /** Files hidden from git status at that time; null or absent if unknown. */
  readonly hidden?: readonly string[] | null;
  /** Files left by tasks that were begun and are not done, by task key. */
  readonly left?: Readonly<Record<string, readonly string[]>>;
  /** Plan and progress file as the engine left them; null if absent. */
  readonly plan: string;
  /** Target of the plan's link; null or absent for a plain file. */
  readonly planLink?: string | null;
  readonly progress: string | null;
  /** Original commit of a task that runs beside others, if its work was moved to `commit` since. */
  readonly openedAt?: string;
  /** Its own entries at the end of the progress file. */
  readonly entries?: string;
  /** Files in which the last move left conflict markers. */
  readonly conflicts?: readonly string[];
}

/** Record of a plan's loop that has not opened a task yet: without it, a missing file would mean the same. */
const NONE = 'none';

/** Begins the record of a plan's loop before its contract is written, or keeps that of a resumed one (`former`). */
export function beginOpenTask(files: LoopFiles, loopId: string, isPlan: boolean, former: EvidenceOf | null): void {
  if (!isPlan) {
    forgetEvidence(files, loopId, 'openTask');
    removeIfThere(files.openTask);
    return;
  }
  const isKept = former !== null && isWhole(files, former, 'openTask');
  const task = isKept ? readOpenTask(files, former) : null;
  store(files, loopId, task ?? { loopId, id: NONE });
}

export function writeOpenTask(files: LoopFiles, task: OpenTask): void {
  if (readRegularFile(files.openTask) === textOf(task)) return;
  store(files, task.loopId, task);
}

function store(
  files: LoopFiles,
  loopId: string,
  task: OpenTask | { readonly loopId: string; readonly id: typeof NONE },
) {
  storeEvidence(files, loopId, 'openTask', textOf(task));
}

function textOf(task: object): string {
  return JSON.stringify(task);
}

/** Returns the open task of a loop; null before its first one, and for a loop without a plan. Throws `evidence-lost`. */
export function readOpenTask(files: LoopFiles, contract: EvidenceOf): OpenTask | null {
  const bytes = readEvidence(files, contract, 'openTask');
  if (bytes === null) return null;
  const task = evidenceJson(files.openTask, bytes) as Partial<OpenTask>;
  // Only the manifest of a newer version tells what belongs to a loop.
  if (contract.evidence === undefined && task.loopId !== contract.loopId) return null;
  if (task.loopId !== contract.loopId) throw evidenceLost(files.openTask, 'foreign');
  if (task.id === NONE && task.scope === undefined) return null;
  if (!Array.isArray(task.scope)) throw evidenceLost(files.openTask, 'torn');
  return task as OpenTask;
}
