import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopFiles } from '../loop-files.ts';

/**
 * Files outside the project on which a verdict, a limit or a protection of a loop rests. To add one: a row here,
 * `storeEvidence` for every write, the first before the contract is written (which then lists it), and `readEvidence`.
 */
export const EVIDENCE = {
  contract: (files: LoopFiles) => files.contract,
  snapshot: (files: LoopFiles) => `${files.snapshot}.json`,
  unchanged: (files: LoopFiles) => files.unchanged,
  seen: (files: LoopFiles) => files.seen,
  startFiles: (files: LoopFiles) => files.startFiles,
  openTask: (files: LoopFiles) => files.openTask,
  commitIntent: (files: LoopFiles) => files.commitIntent,
  scenarios: (files: LoopFiles) => files.scenarios,
  counters: (files: LoopFiles) => files.counters,
  gitView: (files: LoopFiles) => files.gitView,
  startPoint: (files: LoopFiles) => files.startPoint,
} as const;

export type EvidenceName = keyof typeof EVIDENCE;
export const EVIDENCE_NAMES = Object.keys(EVIDENCE) as readonly EvidenceName[];

/** Entries that never change during a loop: the contract itself holds their SHA-256. */
export const FIXED: ReadonlySet<string> = new Set(['startFiles', 'startPoint']);

/** Entries without a digest, because every turn writes them: what they hold is compared with the state instead. */
export const LIVE: ReadonlySet<string> = new Set<EvidenceName>(['counters']);

/** Part of a contract that says which entries its loop has. */
export type EvidenceOf = Pick<Contract, 'loopId' | 'evidence'>;
