import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import shapes from '../../.build/contract-shapes.json' with { type: 'json' };
import type { StoredContract } from '../engine/schema/contract.ts';
import { RalphError } from '../text/ralph-error.ts';
import { checkShape } from './check-shape.ts';
import { regularFile, removeIfThere } from './files/read-regular-file.ts';
import { syncDirectory, writeAtomically } from './files/write-atomically.ts';
import type { LoopFiles } from './loop-files.ts';

export type { StoredContract };

/**
 * The contract of this project's loop, for whoever does not know yet whether the loop is theirs. Its hash is taken as
 * written; `hashContract` proves it. `unreadable`: a file in which something is missing that a hook would stumble over,
 * or that cannot be opened. Never throws.
 */
export function findContract(files: LoopFiles): StoredContract | 'absent' | 'unreadable' {
  return contractIn(files.contract);
}

/** The contract that this loop, which lies here no longer, ended under; null where it is not known. Never throws. */
export function findEndedContract(files: LoopFiles, loopId: string): StoredContract | null {
  const found = contractIn(endedPath(files));
  return typeof found !== 'string' && found.contract.loopId === loopId ? found : null;
}

function endedPath({ contract }: LoopFiles): string {
  return `${contract}.ended`;
}

function contractIn(path: string): StoredContract | 'absent' | 'unreadable' {
  try {
    const stored = JSON.parse(readFileSync(regularFile(path), 'utf8')) as StoredContract;
    return checkShape(stored, shapes.contract) === null ? stored : 'unreadable';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'absent' : 'unreadable';
  }
}

/** The same, null where there is none, for a loop that is the caller's. Throws RalphError `contract-changed` for an unreadable one. */
export function readContract(files: LoopFiles): StoredContract | null {
  const found = findContract(files);
  if (found !== 'unreadable') return found === 'absent' ? null : found;
  throw new RalphError(
    'contract-changed',
    `the contract ${files.contract} cannot be read. Start anew: ralph-loop start --fresh.`,
  );
}

export function writeContract(files: LoopFiles, stored: StoredContract): void {
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  writeAtomically(files.contract, `${JSON.stringify(stored, null, 2)}\n`, 0o600);
}

/** Something else lies where it would be put aside: whoever goes on gives the command line anew. */
const TAKEN = ['EISDIR', 'ENOTDIR', 'EEXIST', 'ENOTEMPTY'];

/** The loop is over: its contract holds no longer, and is put aside for whoever goes on with it. */
export function dropContract(files: LoopFiles): void {
  try {
    renameSync(files.contract, endedPath(files));
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && !TAKEN.includes(code)) throw error;
    removeIfThere(files.contract);
  }
  // A contract that came back after a power cut would make the next loop's state look tampered with.
  if (existsSync(files.outsideDir)) syncDirectory(files.outsideDir);
}
