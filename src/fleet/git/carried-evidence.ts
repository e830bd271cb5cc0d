import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Contract } from '../../engine/schema/contract.ts';
import { EVIDENCE, type EvidenceName, LIVE } from '../../state/evidence/entries.ts';
import { lostBy } from '../../state/evidence/lost.ts';
import { findManifest, type Manifest, ownerOfManifest } from '../../state/evidence/manifest.ts';
import { sha256 } from '../../state/hash-contract.ts';
import { loopFiles } from '../../state/loop-files.ts';

/** Pattern for the manifest of a live or an ended loop, with the loop's name. */
export const MANIFEST = /^evidence(?:\.(.+))?\.json(\.ended)?$/;

/** Entries that a loop needs on another machine. A resume makes new ones about the files of a machine. */
const CARRIED: readonly EvidenceName[] = [
  'contract',
  'unchanged',
  'seen',
  'counters',
  'startFiles',
  'startPoint',
  'openTask',
  'commitIntent',
  'scenarios',
];

/**
 * Writes the manifest of a loop's copied evidence into `outside`. An entry that is believed here gets the digest of its copy,
 * in which secrets are masked; every other one keeps its digest, so that it is not believed there either.
 */
export function carryManifest(project: string, env: NodeJS.ProcessEnv, name: string, outside: string): void {
  const [, loop = null, ended = ''] = MANIFEST.exec(name) ?? [];
  const files = loopFiles(project, loop, env);
  const manifest = manifestAt(`${files.evidence}${ended}`);
  if (manifest === null) return;
  const entries = CARRIED.flatMap((entry) => {
    const digests = manifest.entries[entry];
    if (digests === undefined) return [];
    const path = `${EVIDENCE[entry](files)}${entry === 'contract' ? ended : ''}`;
    const copy = join(outside, basename(path));
    const isBelieved = existsSync(copy) && [digests.is, digests.next].includes(sha256(readFileSync(path)));
    return [[entry, isBelieved && !LIVE.has(entry) ? { is: sha256(readFileSync(copy)) } : digests] as const];
  });
  write(join(outside, name), { ...manifest, entries: Object.fromEntries(entries) });
}

/** Puts the digest of a relocated contract into the carried manifest beside it, if that proves the contract as it came. */
export function adoptContract(outside: string, name: string, came: Buffer, moved: string): void {
  const evidence = join(outside, name.replace(/^contract/, 'evidence'));
  const manifest = manifestAt(evidence);
  if (manifest?.entries['contract']?.is !== sha256(came)) return;
  write(evidence, { ...manifest, entries: { ...manifest.entries, contract: { is: sha256(moved) } } });
}

/** Returns what a contract at `path` lists of the evidence that is carried beside it, with the digests of the copies. */
export function carriedList({ evidence }: Contract, path: string): Pick<Contract, 'evidence'> {
  const manifest = manifestAt(join(dirname(path), basename(path).replace(/^contract/, 'evidence')));
  const entries = Object.entries(evidence).filter(([name]) => isCarried(name));
  const digestOf = (name: string, digest: string | null): string | null =>
    digest === null ? null : (manifest?.entries[name]?.is ?? digest);
  return { evidence: Object.fromEntries(entries.map(([name, digest]) => [name, digestOf(name, digest)])) };
}

/** Returns a manifest; null if it is lost, which the next resume of its loop finds as well. */
function manifestAt(evidence: string): Manifest | null {
  if (!existsSync(evidence)) return null;
  try {
    return findManifest({ evidence }, ownerOfManifest({ evidence }));
  } catch (error) {
    if (lostBy(error) === null) throw error;
    return null;
  }
}

function isCarried(name: string): boolean {
  return CARRIED.some((entry) => entry === name);
}

function write(path: string, manifest: Manifest): void {
  writeFileSync(path, `${JSON.stringify(manifest)}\n`, { mode: 0o600 });
}
