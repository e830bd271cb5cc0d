import type { Baseline } from '../../engine/schema/proof.ts';
import type { EvidenceOf } from '../../state/evidence/evidence.ts';
import { EVIDENCE, evidenceLost, readEvidenceRecord, unlessLost } from '../../state/evidence/evidence.ts';
import { forgetEvidence, storeEvidence } from '../../state/evidence/store-evidence.ts';
import { readRegularFile, removeIfThere } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

/** The open task: the baseline of its attempts, and the rules that the guard enforces. */
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
  /** Files with uncommitted changes at that time, and the marks of their contents. */
  readonly dirty: readonly string[];
  readonly dirtyMarks?: Readonly<Record<string, string>>;
  /** Results of the checks at that time; absent if unknown. */
  readonly baseline?: Baseline;
  /** Results of the checks once the task is done. */
  readonly verified?: Baseline;
  /** Keys of the tasks that need no change, as of the user's start or resume. */
  readonly noChange?: readonly string[];
  /** Files hidden from git status at that time; null or absent if unknown. */
  readonly hidden?: readonly string[] | null;
  /** Files left by tasks that were begun but are not done, by task key. */
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
  /** Files outside the scope changed by the last attempt: the agent may write to them to restore them. */
  readonly strayed?: readonly string[];
  /** Files in which the last move left conflict markers. */
  readonly conflicts?: readonly string[];
  /** Move of its work in progress; the next process repeats it from the beginning. */
  readonly move?: TaskMove;
}

/** What a move of a task's work to a later commit of the plan's branch needs, so that a killed move can be repeated. */
export interface TaskMove {
  /** Commit of the plan's branch, with the plan and the progress file there; null if there is no progress file. */
  readonly main: { readonly tip: string; readonly plan: string; readonly progress: string | null };
  /** Tree of the task's work on its original commit, and that tree merged with the plan's branch. */
  readonly work: string;
  readonly merged: string;
  readonly conflicts: readonly string[];
}

/** Write-ahead record of a task's commit. The next process finishes or rolls it back. */
export interface CommitIntent {
  readonly loopId: string;
  readonly task: string;
  readonly parent: string;
  readonly subject: string;
  readonly message: string;
  /** Commit on which the checks passed, with the same files. null or absent if they passed in the project, or there are none. */
  readonly proved?: string | null;
  /** The task's commit, once nothing more has to be done for it. */
  readonly made?: string;
  /** Text of the plan before and after the tick. */
  readonly before: string;
  readonly after: string;
  /** Size of the progress file before; null if there was none. */
  readonly progressBytes: number | null;
  readonly entry: string;
}

/** Records of a plan's loop, which always has both. */
type PlanRecord = 'openTask' | 'commitIntent';

/** Content of an empty record: no task is open, or no commit is in progress. A missing file could not say so. */
const none = (loopId: string) => JSON.stringify({ loopId, id: 'none' });

/** Begins the records of a plan's loop before its contract is written, or keeps those of a resumed one (`former`). */
export function beginPlanRecords(files: LoopFiles, loopId: string, isPlan: boolean, former: EvidenceOf | null): void {
  for (const name of ['openTask', 'commitIntent'] as const) {
    if (isPlan) storeEvidence(files, loopId, name, (former && textNow(files, former, name)) ?? none(loopId));
    else {
      forgetEvidence(files, loopId, name);
      removeIfThere(EVIDENCE[name](files));
    }
  }
}

/** Returns the text of a loop's record; null for an empty record and for a lost one. */
function textNow(files: LoopFiles, of: EvidenceOf, name: PlanRecord): string | null {
  const record = unlessLost(() => recordOf(files, of, name), null);
  return record && JSON.stringify(record);
}

export function writeOpenTask(files: LoopFiles, task: OpenTask): void {
  store(files, task.loopId, 'openTask', JSON.stringify(task));
}

/** Returns the open task of a loop; null before its first one, and for a loop without a plan. Throws `evidence-lost`. */
export function readOpenTask(files: LoopFiles, contract: EvidenceOf): OpenTask | null {
  const task = recordOf(files, contract, 'openTask') as OpenTask | null;
  if (task !== null && !Array.isArray(task.scope)) throw evidenceLost(files.openTask, 'torn');
  return task;
}

/** Records a commit that is about to be made, before any of it is written. */
export function writeIntent(files: LoopFiles, intent: CommitIntent): void {
  store(files, intent.loopId, 'commitIntent', JSON.stringify(intent));
}

/** Returns the commit that a process of this loop had begun; null if there is none. Throws `evidence-lost`. */
export function readIntent(files: LoopFiles, contract: EvidenceOf): CommitIntent | null {
  return recordOf(files, contract, 'commitIntent') as CommitIntent | null;
}

/** Records that no commit is in progress. */
export function dropIntent(files: LoopFiles, { loopId }: EvidenceOf): void {
  store(files, loopId, 'commitIntent', none(loopId));
}

function store(files: LoopFiles, loopId: string, name: PlanRecord, text: string): void {
  if (readRegularFile(EVIDENCE[name](files)) !== text) storeEvidence(files, loopId, name, text);
}

/** Reads a record; null if it is empty. */
function recordOf(files: LoopFiles, contract: EvidenceOf, name: PlanRecord): object | null {
  const record = readEvidenceRecord<OpenTask | CommitIntent>(files, contract, name);
  if (record === null || JSON.stringify(record) === none(contract.loopId)) return null;
  if (record.loopId !== contract.loopId) throw evidenceLost(EVIDENCE[name](files), 'foreign');
  return record;
}
