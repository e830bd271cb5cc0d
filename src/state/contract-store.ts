import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import shapes from '../../.build/contract-shapes.json' with { type: 'json' };
import type { StoredContract } from '../engine/schema/contract.ts';
import { advise, RalphError } from '../text/message.ts';
import { checkShape } from './check-shape.ts';
import { regularFile, removeIfThere, syncDirectory, writeAtomically } from './files/regular-file.ts';
import type { LoopFiles } from './loop-files.ts';

export type { StoredContract };

/** Reads the loop's contract, whose hash `hashContract` proves. `unreadable`: not as a hook needs it. Never throws. */
export function findContract(files: LoopFiles): StoredContract | 'absent' | 'unreadable' {
  return contractIn(files.contract);
}

/** Returns the contract under which this loop ended; null if unknown. Never throws. */
export function findEndedContract(files: LoopFiles, loopId: string): StoredContract | null {
  const found = contractIn(`${files.contract}.ended`);
  return typeof found !== 'string' && found.contract.loopId === loopId ? found : null;
}

function contractIn(path: string): StoredContract | 'absent' | 'unreadable' {
  try {
    const stored = JSON.parse(readFileSync(regularFile(path), 'utf8')) as StoredContract;
    return checkShape(stored, shapes.contract) === null ? stored : 'unreadable';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'absent' : 'unreadable';
  }
}

/** Reads the contract of the caller's own loop; null if there is none. Throws `contract-changed` if it is unreadable. */
export function readContract(files: LoopFiles): StoredContract | null {
  const found = findContract(files);
  if (found !== 'unreadable') return found === 'absent' ? null : found;
  const message = `the contract ${files.contract} cannot be read.`;
  throw new RalphError('contract-changed', advise(message, 'Start over', 'restart'));
}

export function writeContract(files: LoopFiles, stored: StoredContract): void {
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  writeAtomically(files.contract, `${JSON.stringify(stored, null, 2)}\n`, 0o600);
}

/** Another kind of file is in the way: the next start needs the whole command line again. */
const TAKEN = ['EISDIR', 'ENOTDIR', 'EEXIST', 'ENOTEMPTY'];

/** Puts the contract of a loop that has ended aside, for a resume. */
export function dropContract(files: LoopFiles): void {
  try {
    renameSync(files.contract, `${files.contract}.ended`);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && !TAKEN.includes(code)) throw error;
    removeIfThere(files.contract);
  }
  // A contract that came back after a power cut would make the next loop's state look tampered with.
  if (existsSync(files.outsideDir)) syncDirectory(files.outsideDir);
}
