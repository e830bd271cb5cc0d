import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { namesIn, readRecord, removeIfThere, writeRecord } from '../../state/files/regular-file.ts';
import { LOOP_NAME, loopFiles } from '../../state/loop-files.ts';
import { identityOf, isAlive } from '../../state/process/identity.ts';
import { WORKTREES } from '../../task/task-file.ts';

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
  return { name, branch: `ralph/${name}`, dir, projectDir: join(dir, prefixOf(projectDir)) };
}

/** Returns all worktrees of a project, by name. */
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

/** Returns the project's folder in its repository; '' for the repository itself. */
function prefixOf(projectDir: string): string {
  const real = realpathSync(projectDir);
  for (let dir = real; ; dir = dirname(dir)) {
    if (existsSync(join(dir, '.git'))) return relative(dir, real);
    if (dirname(dir) === dir) return '';
  }
}

/** Progress of a worktree's creation or removal, stored outside the project, out of reach of its agents. */
interface WorktreeRecord {
  /** `making`: files are being checked out. `made`: before set-up. `ready`: set up. `removing`: it may be half removed. */
  readonly step: 'making' | 'made' | 'ready' | 'removing';
  /** Commit from which it was created. */
  readonly base: string;
  /** True if the branch existed before. */
  readonly hadBranch: boolean;
  /** Process that creates or removes it. */
  readonly maker: { readonly pid: number; readonly startedAt: string | null };
}

/** Reads the record; null if it is missing or invalid: git has the rest. */
export function readWorktreeRecord(projectDir: string, name: string, env: NodeJS.ProcessEnv): WorktreeRecord | null {
  const found = readRecord<WorktreeRecord>(path(projectDir, name, env));
  const { step = '', base, maker } = found ?? {};
  const known = ['making', 'made', 'ready', 'removing'].includes(step) && typeof base === 'string';
  return known && typeof maker?.pid === 'number' ? (found as WorktreeRecord) : null;
}

export function writeWorktreeRecord(
  projectDir: string,
  name: string,
  env: NodeJS.ProcessEnv,
  record: Omit<WorktreeRecord, 'maker'>,
): void {
  writeRecord(path(projectDir, name, env), { ...record, maker: identityOf(process.pid) });
}

export function dropWorktreeRecord(projectDir: string, name: string, env: NodeJS.ProcessEnv): void {
  removeIfThere(path(projectDir, name, env));
}

/** Returns whether another process is creating or removing it. */
export function isBeingMade({ step, maker }: WorktreeRecord): boolean {
  return step !== 'ready' && maker.pid !== process.pid && isAlive(maker);
}

/** Lock for creating or removing a worktree. */
export function worktreeLock(projectDir: string, name: string, env: NodeJS.ProcessEnv): string {
  return `${path(projectDir, name, env)}.lock`;
}

function path(projectDir: string, name: string, env: NodeJS.ProcessEnv): string {
  return join(loopFiles(projectDir, name, env).outsideDir, `worktree.${name}.json`);
}
