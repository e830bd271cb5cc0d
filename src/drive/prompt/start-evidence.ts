import { readRecord, removeIfThere, writeRecord } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { Evidence } from '../../task/commands/run-evidence.ts';
import { elapsed } from '../../text/time.ts';

/** Age up to which the output of the start stands for that of the first iteration. */
const FRESH_MS = 10 * 60 * 1000;

interface Stored {
  readonly loopId: string;
  readonly at: string;
  readonly evidence: readonly Evidence[];
}

/** Stores the output of commands that ran before the start, for the first prompt; without any, removes that of another loop. */
export function storeStartEvidence(files: LoopFiles, loopId: string, at: string, evidence: readonly Evidence[]): void {
  if (evidence.length === 0) removeIfThere(files.startEvidence);
  else writeRecord(files.startEvidence, { loopId, at, evidence } satisfies Stored);
}

/** Takes the output of the start, once; null if there is none, it belongs to another loop, or it is ten minutes old. */
export function takeStartEvidence(files: LoopFiles, loopId: string, at: string): Evidence[] | null {
  const found = readRecord<Stored>(files.startEvidence);
  if (found === null) return null;
  removeIfThere(files.startEvidence);
  if (found.loopId !== loopId || found.at === undefined || found.evidence === undefined) return null;
  return elapsed(found.at, at) <= FRESH_MS ? [...found.evidence] : null;
}
