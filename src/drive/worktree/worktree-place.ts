import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { lossBy, unlessLost } from '../../state/evidence/evidence.ts';
import { dropProjectRecord, readProjectRecord, storeProjectRecord } from '../../state/evidence/project-records.ts';
import { namesIn } from '../../state/files/regular-file.ts';
import { LOOP_NAME, type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { identityOf, isAlive } from '../../state/process/identity.ts';
import { prefixInRepository } from '../../task/project-file.ts';
import { WORKTREES } from '../../task/task-file.ts';
import { type Message, RalphError } from '../../text/message.ts';
import { WORKTREE_TEXTS } from './messages.ts';

/** Location of a loop's worktree, existing or not. Paths are absolute. */
export interface WorktreePlace {
  readonly name: string;
  readonly branch: string;
  /** Root of the work tree. */
  readonly dir: string;
  /** Project in it: the same folder of the repository as the main project. */
  readonly projectDir: string;
}

/** Returns the location for the loop `name` (a LOOP_NAME), without calling git. */
export function worktreePlace(projectDir: string, name: string): WorktreePlace {
  const dir = join(projectDir, WORKTREES, name);
  return { name, branch: `ralph/${name}`, dir, projectDir: resolve(dir, prefixInRepository(projectDir) ?? '') };
}

export function worktreeLoop(projectDir: string, name: string, env: NodeJS.ProcessEnv): LoopFiles {
  return loopFiles(worktreePlace(projectDir, name).projectDir, name, env);
}

export function worktreePlaces(projectDir: string): WorktreePlace[] {
  const folder = join(projectDir, WORKTREES);
  return (existsSync(folder) ? namesIn(folder) : [])
    .filter((name) => LOOP_NAME.test(name) && existsSync(join(folder, name, '.git')))
    .sort()
    .map((name) => worktreePlace(projectDir, name));
}

/** Returns the project of the loop `name`: the given one, or the worktree of that name if its loop is live or ended later. */
export function projectOfLoop(projectDir: string, name: string | null, env: NodeJS.ProcessEnv): string {
  const place = name === null ? undefined : worktreePlaces(projectDir).find((worktree) => worktree.name === name);
  if (place === undefined) return projectDir;
  const [own, its] = [projectDir, place.projectDir].map((dir) => loopFiles(dir, name, env));
  if (own === undefined || its === undefined || existsSync(own.state)) return projectDir;
  return existsSync(its.state) || changedAt(own.archiveDir) <= changedAt(its.archiveDir)
    ? place.projectDir
    : projectDir;
}

function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Progress of a worktree's creation or removal, stored outside the project, out of reach of its agents. */
interface WorktreeRecord {
  /** `making`: files are being checked out. `made`: before set-up. `ready`: set up. `removing`: it may be half removed. */
  readonly step: 'making' | 'made' | 'ready' | 'removing';
  /** Commit from which it was created. */
  readonly base: string;
  /** True if the branch existed before. */
  readonly hadBranch: boolean;
  /** Size and time of the ignored files that existed once it was set up: copies, and results of the set-up. */
  readonly ours?: Readonly<Record<string, string>>;
  /** Command that set it up; null if there was none. */
  readonly setUp?: string | null;
  /** Globs of ignored files that were copied into it. */
  readonly copies?: readonly string[];
  /** Process that creates or removes it. */
  readonly maker: { readonly pid: number; readonly startedAt: string | null };
}

/** Reads the record; null if there is none or it is lost: all files in the worktree then count as work. */
export function readWorktreeRecord(projectDir: string, name: string, env: NodeJS.ProcessEnv): WorktreeRecord | null {
  return unlessLost(() => provedRecord(projectDir, name, env), null);
}

/** Returns why the record of a worktree cannot be trusted; null if it can, or if there is none. */
export function lossOfRecord(projectDir: string, name: string, env: NodeJS.ProcessEnv): Message | null {
  const lost = lossBy(() => provedRecord(projectDir, name, env));
  return lost && WORKTREE_TEXTS.recordLost(name, lost.text);
}

function provedRecord(projectDir: string, name: string, env: NodeJS.ProcessEnv): WorktreeRecord | null {
  const found = readProjectRecord(loopFiles(projectDir, name, env), path(projectDir, name, env));
  const { step = '', base, maker } = (found ?? {}) as Partial<WorktreeRecord>;
  const known = ['making', 'made', 'ready', 'removing'].includes(step) && typeof base === 'string';
  return known && typeof maker?.pid === 'number' ? (found as unknown as WorktreeRecord) : null;
}

export function writeWorktreeRecord(
  projectDir: string,
  name: string,
  env: NodeJS.ProcessEnv,
  record: Omit<WorktreeRecord, 'maker'>,
): void {
  const own: WorktreeRecord = { ...record, maker: identityOf(process.pid) };
  storeProjectRecord(loopFiles(projectDir, name, env), path(projectDir, name, env), own);
}

export function dropWorktreeRecord(projectDir: string, name: string, env: NodeJS.ProcessEnv): void {
  dropProjectRecord(loopFiles(projectDir, name, env), path(projectDir, name, env));
}

/** Reads the record. Throws `refused` while another process is creating or removing the worktree. */
export function readFreeRecord(projectDir: string, name: string, env: NodeJS.ProcessEnv): WorktreeRecord | null {
  const record = readWorktreeRecord(projectDir, name, env);
  const { step = 'ready', maker = null } = record ?? {};
  if (step === 'ready' || maker === null || maker.pid === process.pid || !isAlive(maker)) return record;
  throw new RalphError('refused', WORKTREE_TEXTS.busy(name, maker.pid));
}

/** Lock for creating or removing a worktree. */
export function worktreeLock(projectDir: string, name: string, env: NodeJS.ProcessEnv): string {
  return `${path(projectDir, name, env)}.lock`;
}

function path(projectDir: string, name: string, env: NodeJS.ProcessEnv): string {
  return join(loopFiles(projectDir, name, env).outsideDir, `worktree.${name}.json`);
}
