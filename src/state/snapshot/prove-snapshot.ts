import type { EvidenceOf } from '../evidence/entries.ts';
import { proveContract } from '../evidence/live-contract.ts';
import { evidenceLost } from '../evidence/lost.ts';
import type { LoopFiles } from '../loop-files.ts';
import { proveLook, readLook, stampOf } from './look.ts';
import { contentOf, lookPath, packPath, readSnapshot, type Snapshot } from './snapshot.ts';
import { statAt } from './version.ts';

/**
 * Returns the snapshot of a loop after it has proved contract, snapshot, contents and stamps; null if the contract has none.
 * Throws `evidence-lost`. The caller holds the lock of the snapshot.
 */
export function provedSnapshot(files: LoopFiles, contract: EvidenceOf): Snapshot | null {
  proveContract(files);
  const snapshot = readSnapshot(files, contract);
  if (snapshot === null) return null;
  const look = lookPath(files);
  proveLook(look);
  const pack = packPath(files, snapshot);
  if (!isAsStamped(look, pack)) proveContents(files, snapshot, pack);
  return snapshot;
}

/** Returns whether a file has the stamp of the last examination, which no program without privileges can forge. */
function isAsStamped(look: string, path: string): boolean {
  const known = readLook(look);
  const at = known?.paths.indexOf(path) ?? -1;
  const now = stampOf(statAt(path), Date.now());
  return known !== null && at >= 0 && now.every((figure, index) => figure === known.stamps[3 * at + index]);
}

function proveContents(files: LoopFiles, snapshot: Snapshot, pack: string): void {
  const stat = statAt(pack);
  const kept = Object.values(snapshot.files).filter((version) => version !== null && version.offset !== null);
  if (stat === null) throw evidenceLost(pack, 'missing');
  if (stat.size === 0 && kept.some((version) => version?.size !== 0)) throw evidenceLost(pack, 'empty');
  for (const version of kept) {
    if (version === null || contentOf(files, snapshot, version) !== null) continue;
    throw evidenceLost(pack, (version.offset ?? 0) + version.size > stat.size ? 'torn' : 'edited');
  }
}
