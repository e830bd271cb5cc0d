import { existsSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { readRegularFile, removeIfThere } from '../../state/files/read-regular-file.ts';
import { writeAtomically } from '../../state/files/write-atomically.ts';
import { LOOP_NAME, loopFiles } from '../../state/loop-files.ts';
import { identityOf, isAlive } from '../../state/process/identity.ts';
import { WORKTREES } from '../../task/task-file.ts';

/** Where the worktree of a loop lies, whether it is there or not. Paths are absolute. */
export interface WorktreePlace {
  readonly name: string;
  readonly branch: string;
  /** The work tree of the whole repository. */
  readonly dir: string;
  /** The project in it: the same folder of the repository that the main project is. */
  readonly projectDir: string;
}

/** The place of the worktree of the loop `name` (a LOOP_NAME). Asks no git, so that `list` costs nothing. */
export function worktreePlace(projectDir: string, name: string): WorktreePlace {
  const dir = join(projectDir, WORKTREES, name);
  return { name, branch: `ralph/${name}`, dir, projectDir: join(dir, prefixOf(projectDir)) };
}

/** The places of all worktrees that lie in a project, by name. */
export function worktreePlaces(projectDir: string): WorktreePlace[] {
  let entries: string[];
  try {
    entries = readdirSync(join(projectDir, WORKTREES));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
  return entries
    .filter((name) => LOOP_NAME.test(name) && existsSync(join(projectDir, WORKTREES, name, '.git')))
    .sort()
    .map((name) => worktreePlace(projectDir, name));
}

/**
 * The project that the loop `name` lies in: the given one, unless it knows nothing of such a loop and there is a worktree
 * of that name.
 */
export function projectOfLoop(projectDir: string, name: string | null, env: NodeJS.ProcessEnv): string {
  if (name === null) return projectDir;
  const { state, archiveDir } = loopFiles(projectDir, name, env);
  if (existsSync(state) || existsSync(archiveDir)) return projectDir;
  const place = worktreePlaces(projectDir).find((worktree) => worktree.name === name);
  return place?.projectDir ?? projectDir;
}

/** Which folder of its repository the project is: '' for the repository itself. */
function prefixOf(projectDir: string): string {
  const real = realpathSync(projectDir);
  for (let dir = real; ; dir = dirname(dir)) {
    if (existsSync(join(dir, '.git'))) return relative(dir, real);
    if (dirname(dir) === dir) return '';
  }
}

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
