import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { loopFiles } from '../../state/loop-files.ts';
import { identityOf, isAlive } from '../../state/process-identity.ts';
import { readRegularFile } from '../../state/read-regular-file.ts';
import { removeIfThere } from '../../state/remove-if-there.ts';
import { writeAtomically } from '../../state/write-atomically.ts';

/** How far the making of a worktree has come: kept outside the project, where no agent of it writes. */
export interface WorktreeRecord {
  /** `making`: its files are being checked out. `made`: they are there, and it is not set up. `ready`: it is. */
  readonly step: 'making' | 'made' | 'ready';
  /** The commit that it began at. */
  readonly base: string;
  /** Whether the branch was there before. */
  readonly hadBranch: boolean;
  /** The process that makes it. */
  readonly maker: { readonly pid: number; readonly startedAt: string | null };
}

const MAX_BYTES = 4096;

/** null where none of ours is known, or what lies there is none. */
export function readWorktreeRecord(projectDir: string, name: string, env: NodeJS.ProcessEnv): WorktreeRecord | null {
  try {
    const found = JSON.parse(readRegularFile(path(projectDir, name, env), MAX_BYTES) ?? '') as WorktreeRecord;
    const known = ['making', 'made', 'ready'].includes(found.step) && typeof found.base === 'string';
    return known && typeof found.maker?.pid === 'number' ? found : null;
  } catch {
    return null; // none there, or cut short by somebody else: git knows the rest
  }
}

export function writeWorktreeRecord(
  projectDir: string,
  name: string,
  env: NodeJS.ProcessEnv,
  record: Omit<WorktreeRecord, 'maker'>,
): void {
  mkdirSync(loopFiles(projectDir, name, env).outsideDir, { recursive: true, mode: 0o700 });
  const whole: WorktreeRecord = { ...record, maker: identityOf(process.pid) };
  writeAtomically(path(projectDir, name, env), `${JSON.stringify(whole)}\n`, 0o600);
}

export function dropWorktreeRecord(projectDir: string, name: string, env: NodeJS.ProcessEnv): void {
  removeIfThere(path(projectDir, name, env));
}

/** Whether another process is at it now. */
export function isBeingMade({ step, maker }: WorktreeRecord): boolean {
  return step !== 'ready' && maker.pid !== process.pid && isAlive(maker);
}

/** The lock under which a worktree is made or removed. */
export function worktreeLock(projectDir: string, name: string, env: NodeJS.ProcessEnv): string {
  return `${path(projectDir, name, env)}.lock`;
}

function path(projectDir: string, name: string, env: NodeJS.ProcessEnv): string {
  return join(loopFiles(projectDir, name, env).outsideDir, `worktree.${name}.json`);
}
