import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import { readFindings } from '../../engine/findings/read-findings.ts';
import { type Item, textsOf } from '../../engine/identity/items.ts';
import { compareQuestions } from '../../engine/identity/questions.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { Seen } from '../../engine/schema/records.ts';
import { checkShape } from '../../state/check-shape.ts';
import { evidenceLost, readEvidenceRecord } from '../../state/evidence/evidence.ts';
import { storeEvidence } from '../../state/evidence/store-evidence.ts';
import { readRecord } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { outputsNow, owedFindings, readFindingsLog } from '../../task/outputs/check-task-outputs.ts';
import { questionsFile } from '../../task/outputs/open-questions.ts';
import { taskFolder } from '../../task/task-file.ts';

type Loop = Pick<Contract, 'loopId' | 'evidence'>;

/** Returns what the loop has seen. Throws `evidence-lost`. */
export function readSeen(files: LoopFiles, contract: Loop): Seen {
  const { loopId } = contract;
  const seen = readEvidenceRecord<Seen>(files, contract, 'seen');
  if (seen === null) return { loopId, items: [], findings: [], questions: [], outputs: {} };
  if (checkShape(seen, shapes.seen) !== null) throw evidenceLost(files.seen, 'torn');
  if (seen.loopId !== loopId) throw evidenceLost(files.seen, 'foreign');
  return seen as Seen;
}

/** Reads the record unproved, for what a claim decides again: loading node's hash functions costs a Stop about 4 ms. */
export function glanceAtSeen(files: LoopFiles, contract: Loop): Seen {
  return ownRecord(files, contract) ?? readSeen(files, contract);
}

/** Returns the record as it is on disk; null if it is not this loop's. */
function ownRecord(files: LoopFiles, { loopId }: Loop): Seen | null {
  const seen = readRecord<Seen>(files.seen);
  return checkShape(seen, shapes.seen) === null && seen?.loopId === loopId ? (seen as Seen) : null;
}

/** Replaces the record. The caller holds the lock of the loop's state. */
function writeSeen(files: LoopFiles, seen: Seen): void {
  storeEvidence(files, seen.loopId, 'seen', `${JSON.stringify(seen)}\n`);
}

/** Begins a new record with the project as it is now. `items`: those of a checklist; `written`: kept from a former record. */
export function beginSeen(
  files: LoopFiles,
  contract: Contract,
  items: readonly Item[],
  written?: Seen['written'],
): void {
  const { loopId, taskPath, task } = contract;
  const outputs = outputsNow(files.projectDir, taskPath, task?.requiredOutputs ?? []);
  const seen = { loopId, items: textsOf(items), findings: [], questions: [], outputs, ...(written && { written }) };
  writeSeen(files, withOpenEntries(files, contract, seen));
}

/** Keeps the record of a resumed loop with a new manifest, as on another machine; begins one if there is none. */
export function adoptSeen(files: LoopFiles, contract: Contract, items: readonly Item[]): void {
  const seen = ownRecord(files, contract);
  if (seen === null) beginSeen(files, contract, items);
  else writeSeen(files, seen);
}

/**
 * Remembers the findings and questions that are open now, and the items of a checklist. The caller holds the lock of the
 * loop's state. `seen` is proved only if it changes. Throws `evidence-lost`.
 */
export function rememberOpenEntries(
  files: LoopFiles,
  contract: Contract,
  seen: Seen,
  items: readonly string[] = seen.items,
): void {
  const was = JSON.stringify(seen);
  const now = { ...withOpenEntries(files, contract, seen), items: [...items] };
  if (JSON.stringify(now) === was) return;
  if (JSON.stringify(readSeen(files, contract)) !== was) throw evidenceLost(files.seen, 'edited');
  writeSeen(files, now);
}

/** Remembers files, with marks, that checks or commands of the loop wrote. The caller holds the lock of the state. */
export function rememberWritten(files: LoopFiles, contract: Contract, marks: Readonly<Record<string, string>>): void {
  const seen = readSeen(files, contract);
  writeSeen(files, { ...seen, written: { ...seen.written, ...marks } });
}

/** Returns the record with what is owed now. An unreadable file settles nothing. */
function withOpenEntries({ projectDir }: LoopFiles, { findingsLog, taskPath }: Contract, seen: Seen): Seen {
  const log = readFindingsLog(projectDir, findingsLog);
  const findings = log.kind === 'text' ? owedFindings(seen.findings, readFindings(log.text).findings).owed : null;
  const file = questionsFile(taskFolder(projectDir, taskPath));
  const questions = file === null ? null : compareQuestions(seen.questions, file.questions).owed;
  return { ...seen, findings: [...(findings ?? seen.findings)], questions: [...(questions ?? seen.questions)] };
}

/** Names owed entries that are gone; the user's acceptance forgets them. */
export function goneEntries(
  files: LoopFiles,
  contract: Contract,
): { readonly path: string; readonly missing: readonly string[] }[] {
  const { projectDir } = files;
  const seen = readSeen(files, contract);
  const log = readFindingsLog(projectDir, contract.findingsLog);
  const findings = log.kind === 'text' ? readFindings(log.text).findings : [];
  const questions = questionsFile(taskFolder(projectDir, contract.taskPath))?.questions ?? [];
  const compared = compareQuestions(seen.questions, questions);
  return [
    { path: 'the findings log', missing: owedFindings(seen.findings, findings).missing },
    { path: 'OPEN_QUESTIONS.md', missing: [...compared.missing, ...textsOf(compared.evaded)] },
  ].filter(({ missing }) => missing.length > 0);
}
