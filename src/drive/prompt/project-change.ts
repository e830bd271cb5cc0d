import type { Contract } from '../../engine/schema/contract.ts';
import { type EvidenceOf, isWhole, readEvidenceRecord } from '../../state/evidence/evidence.ts';
import { forgetEvidence, storeEvidence } from '../../state/evidence/store-evidence.ts';
import { removeIfThere } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { withState } from '../../state/with-state.ts';
import type { GitOptions } from '../../task/git/run-git.ts';
import { loopsFiles } from '../../task/progress/loops-files.ts';
import { isSameMark } from '../../task/progress/marks.ts';
import { type Changes, changesSinceStart, marksOf, type StartFiles } from '../../task/progress/start-files.ts';
import { readSeen, rememberWritten } from './seen-record.ts';

/** Record by which a claim is judged: the state of the project after the baseline. */
export interface StartRecord {
  readonly files: StartFiles;
  /** Files that the checks wrote before the start: changing one is not work. */
  readonly written: readonly string[];
}

/** Stores the record of a loop, before its contract; null: the loop has none. */
export function storeStartRecord(files: LoopFiles, loopId: string, record: StartRecord | null): void {
  if (record !== null) {
    storeEvidence(files, loopId, 'startFiles', JSON.stringify(record));
    return;
  }
  forgetEvidence(files, loopId, 'startFiles');
  removeIfThere(files.startFiles);
}

/** Forgets the lost record of a resumed loop, which takes the present state as a new start: what changed is unknown. */
export function dropLostRecord(files: LoopFiles, contract: EvidenceOf): void {
  if (!isWhole(files, contract, 'startFiles')) storeStartRecord(files, contract.loopId, null);
}

/**
 * Runs checks or commands of a loop. Returns their result, and whether the agent had changed a file of the project by then;
 * undefined if unknown. The files that they change are remembered, unless the loop is over (`isOver`): with that content they
 * never count as the agent's work. Throws RalphError `evidence-lost`; rejects with the abort reason.
 */
export async function apartFromWork<T>(
  files: LoopFiles,
  contract: Contract,
  options: Pick<GitOptions, 'env' | 'signal'>,
  run: () => Promise<T>,
  isOver: (result: T) => boolean = () => false,
): Promise<{ readonly result: T; readonly changed: 'yes' | 'no' | undefined }> {
  const git = { ...options, sandbox: contract.sandbox };
  const before = await workSinceStart(files, contract, git);
  const result = await run();
  if (before === null) return { result, changed: undefined };
  const after = isOver(result) ? null : await workSinceStart(files, contract, git);
  const written = (after?.files ?? []).filter((path) => !before.files.includes(path));
  if (written.length > 0) {
    const marks = marksOf(files.projectDir, written);
    withState(files, () => ({ next: 'keep', result: rememberWritten(files, contract, marks) }));
  }
  const unchanged = before.known ? 'no' : undefined;
  return { result, changed: before.files.length > 0 ? 'yes' : unchanged };
}

/** Returns the files at the start of a loop, and those that its checks wrote before it; null without such a record. */
export function startRecordOf(files: LoopFiles, contract: Contract): StartRecord | null {
  return readEvidenceRecord<StartRecord>(files, contract, 'startFiles') as StartRecord | null;
}

/** Returns the files that the agent has changed since the start; null if the loop has no record of the start. */
async function workSinceStart(files: LoopFiles, contract: Contract, options: GitOptions): Promise<Changes | null> {
  const record = startRecordOf(files, contract);
  if (record === null) return null;
  const { files: start, written } = record;
  const changes = await changesSinceStart(files.projectDir, start, options);
  const isOwn = loopsFiles(contract);
  const found = changes.files.filter((path) => !isOwn(path) && !written.includes(path));
  const { written: later = {} } = readSeen(files, contract);
  const now = marksOf(
    files.projectDir,
    found.filter((path) => Object.hasOwn(later, path)),
  );
  return { ...changes, files: found.filter((path) => !isSameMark(later[path] ?? '', now[path] ?? '-')) };
}
