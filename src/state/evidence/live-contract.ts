import type { StoredContract } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { hashContract } from '../hash-contract.ts';
import { findContract, type LoopFiles } from '../loop-files.ts';
import { readCounters } from '../read-counters.ts';
import { readEvidence } from './evidence.ts';
import { evidenceBytes, evidenceLost } from './evidence-lost.ts';
import { ownerOfManifest } from './manifest.ts';

/**
 * Returns the contract of a loop; null if, and only if, the loop has none: its state names none, and none is there. Throws
 * `evidence-lost` for one that is missing, empty, torn, older, edited or another loop's. A state that another program has
 * changed is no reason to doubt the contract. Hashes only if state and contract disagree; `proveContract` always does.
 */
export function liveContract(
  files: LoopFiles,
  { loopId, contractHash }: Pick<LoopState, 'loopId' | 'contractHash'>,
): StoredContract | null {
  const found = findContract(files);
  if (found === 'absent' && contractHash === null) return null;
  const stored = presentContract(files, found);
  const isNamed = stored.hash === contractHash && stored.contract.loopId === loopId;
  if (!isNamed && contractHash !== null) proveAgainstManifest(files, stored, loopId);
  if (stored.contract.evidence['counters'] === undefined) return stored;
  const counters = readCounters(files);
  if (counters?.loopId === stored.contract.loopId) return stored;
  // The state alone could go back.
  evidenceBytes(files.counters);
  throw evidenceLost(files.counters, counters === null ? 'torn' : 'foreign');
}

/** Throws `evidence-lost` unless the manifest shows that the contract is right, and so that the state was changed. */
function proveAgainstManifest(files: LoopFiles, { contract }: StoredContract, loopId: string): void {
  const whose = ownerOfManifest(files);
  if (whose === contract.loopId) readEvidence(files, { loopId: whose, evidence: {} }, 'contract');
  else if (whose === loopId) throw evidenceLost(files.contract, 'foreign');
  else throw evidenceLost(files.evidence, 'foreign');
}

/** Throws `evidence-lost` unless the content of the contract is that of its own hash and of the manifest. */
export function proveContract(files: LoopFiles): void {
  const { hash, contract } = presentContract(files, findContract(files));
  readEvidence(files, contract, 'contract');
  if (hashContract(contract) !== hash) throw evidenceLost(files.contract, 'edited');
}

function presentContract(files: LoopFiles, found: ReturnType<typeof findContract>): StoredContract {
  if (typeof found !== 'string') return found;
  evidenceBytes(files.contract);
  throw evidenceLost(files.contract, 'torn');
}
