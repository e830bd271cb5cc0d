import type { Contract } from '../../engine/schema/contract.ts';
import type { EvidenceOf } from '../../state/evidence/entries.ts';
import { forgetEvidence, readEvidence, storeEvidence } from '../../state/evidence/evidence.ts';
import { evidenceJson, lossIn } from '../../state/evidence/lost.ts';
import { removeIfThere } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { GitOptions } from '../../task/git/run-git.ts';
import { loopsFiles } from '../../task/progress/loops-files.ts';
import { changesSinceStart, type StartFiles } from '../../task/progress/start-files.ts';

/** Record by which a claim is judged: what the project looked like after the baseline. */
export interface StartRecord {
  readonly files: StartFiles;
  /** Files that the checks themselves write: a change of one is no work. */
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

/** Forgets a lost record of a loop that is resumed, which takes the present state as a new start: what changed is unknown. */
export function dropLostRecord(files: LoopFiles, contract: EvidenceOf): void {
  if (contract.evidence?.['startFiles'] === undefined) return;
  try {
    readEvidence(files, contract, 'startFiles');
  } catch (error) {
    lossIn(error);
    storeStartRecord(files, contract.loopId, null);
  }
}

/**
 * Returns whether a file of the project, other than the loop's own, differs from the start; undefined if that is unknown.
 * Throws RalphError `evidence-lost`; rejects with the abort's reason.
 */
export async function projectChanged(
  files: LoopFiles,
  contract: Contract,
  options: GitOptions,
): Promise<'yes' | 'no' | undefined> {
  const bytes = contract.evidence?.['startFiles'] === undefined ? null : readEvidence(files, contract, 'startFiles');
  if (bytes === null) return undefined;
  const { files: start, written } = evidenceJson(files.startFiles, bytes) as unknown as StartRecord;
  const isOwn = loopsFiles(contract);
  const changes = await changesSinceStart(files.projectDir, start, options);
  if (changes.files.some((path) => !isOwn(path) && !written.includes(path))) return 'yes';
  return changes.known ? 'no' : undefined;
}
