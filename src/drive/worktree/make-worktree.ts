import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, resolve } from 'node:path';
import type { Sandbox } from '../../engine/schema/contract.ts';
import { namesIn } from '../../state/files/regular-file.ts';
import { withLock } from '../../state/lock/lock.ts';
import { hideRuntimeDir, loopFiles } from '../../state/loop-files.ts';
import { onPath } from '../../state/process/find-program.ts';
import { runSetUp } from '../../task/commands/run-command.ts';
import { WORKTREES } from '../../task/task-file.ts';
import { RalphError } from '../../text/message.ts';
import {
  checkOutSubmodules,
  copyIgnored,
  copyIncluded,
  copyTask,
  INCLUDE_FILE,
  ignoredFiles,
  isSame,
  stampsOf,
} from './copy-files.ts';
import { WORKTREE_TEXTS } from './messages.ts';
import { holdingsOf, removeFiles } from './remove-worktree.ts';
import {
  askGit,
  changedFiles,
  isRegistered,
  ownCommits,
  type Repository,
  repositoryOf,
  tipOf,
  userGit,
} from './repository.ts';
import type { WorktreePlace } from './worktree-place.ts';
import {
  dropWorktreeRecord,
  lossOfRecord,
  readFreeRecord,
  readWorktreeRecord,
  worktreeLock,
  worktreePlace,
  writeWorktreeRecord,
} from './worktree-place.ts';

export interface WorktreeRequest {
  readonly projectDir: string;
  /** Name of the loop, a LOOP_NAME. */
  readonly name: string;
  /** Relative to the project; null if the loop in the worktree names it. */
  readonly taskPath: string | null;
  /** `refuse`: only a new worktree. `fresh`: a new loop may start in an existing one. `resume`: it must exist. */
  readonly existing: 'resume' | 'fresh' | 'refuse';
  readonly env: NodeJS.ProcessEnv;
}

interface MadeWorktree {
  readonly place: WorktreePlace;
  /** True until its set-up has finished. */
  readonly needsSetUp: boolean;
  /** True if this call has created it. */
  readonly isNew: boolean;
  readonly notices: readonly string[];
}

/** Creates a loop's worktree on its own branch, or returns the existing one. Throws before any change. */
export function makeWorktree(request: WorktreeRequest): MadeWorktree {
  const { projectDir, name, env } = request;
  const repository = repositoryOf(projectDir, env);
  const place = worktreePlace(projectDir, name);
  mkdirSync(loopFiles(projectDir, name, env).outsideDir, { recursive: true, mode: 0o700 });
  return withLock(worktreeLock(projectDir, name, env), () => {
    checkWorktree(request);
    const record = readWorktreeRecord(projectDir, name, env);
    if (record?.step === 'making') clearAway(request, place, record.hadBranch ? null : record.base);
    if (record?.step === 'removing') clearAway(request, place, tipOf(projectDir, place.branch, env));
    if (existsSync(place.dir)) {
      const lost = lossOfRecord(projectDir, name, env);
      // Files missing after a killed creation or removal would count as deleted by the agent.
      if (lost !== null && request.existing !== 'resume') throw new RalphError('evidence-lost', lost);
      const notices = [
        WORKTREE_TEXTS.resumes(place.branch, place.dir),
        ...(lost === null ? [] : [lost.text]),
        ...taskNotices(request, place),
      ];
      return { place, needsSetUp: record?.step === 'made', isNew: false, notices };
    }
    if (request.existing === 'resume') throw new RalphError('no-loop', WORKTREE_TEXTS.nothingToResume(name));
    if (isRegistered(projectDir, place.dir, env)) forget(request, place);
    return makeNew(request, repository, place);
  });
}

/** Throws RalphError if the loop cannot have a worktree. Changes nothing. */
export function checkWorktree({ projectDir, name, existing, env }: WorktreeRequest): void {
  const { dir, branch } = worktreePlace(projectDir, name);
  const record = readFreeRecord(projectDir, name, env);
  // The remains of a killed run are removed first.
  if (record?.step === 'making' || record?.step === 'removing') return;
  if (!existsSync(dir)) {
    if (existing !== 'resume') refuseBranch(projectDir, branch, env);
    return;
  }
  if (!isRegistered(projectDir, dir, env)) throw new RalphError('name-taken', WORKTREE_TEXTS.notOurs(dir));
  // Without its HEAD or index, nothing could be compared or committed there.
  askGit(dir, ['--no-optional-locks', 'status', '--porcelain'], env, `the worktree ${dir} could not be read`);
  // It never had a loop: there is nothing to resume.
  if (record?.step === 'made' && existing !== 'fresh')
    throw new RalphError('refused', WORKTREE_TEXTS.notSetUp(name, dir));
  if (existing === 'refuse') throw new RalphError('name-taken', WORKTREE_TEXTS.exists(name, dir));
}

/** Removes the remains of a killed run, which contain no work to keep. */
function clearAway(
  { projectDir, name, env }: WorktreeRequest,
  { dir, branch }: WorktreePlace,
  base: string | null,
): void {
  removeFiles(projectDir, dir, env);
  if (base !== null && tipOf(projectDir, branch, env) === base) userGit(projectDir, ['branch', '-D', branch], env);
  dropWorktreeRecord(projectDir, name, env);
}

/** Makes git forget a worktree whose folder was removed by hand. Throws `refused` if it had commits on no branch. */
function forget({ projectDir, name, env }: WorktreeRequest, place: WorktreePlace): void {
  const commits = holdingsOf({ projectDir, place, env }).adrift.map(({ commit }) => commit);
  if (commits.length > 0) throw new RalphError('refused', WORKTREE_TEXTS.leftAdrift(name, commits));
  removeFiles(projectDir, place.dir, env);
}

function makeNew(
  { projectDir, name, taskPath, env }: WorktreeRequest,
  { commonDir, prefix, head }: Repository,
  place: WorktreePlace,
): MadeWorktree {
  const { branch, dir } = place;
  const hadBranch = refuseBranch(projectDir, branch, env);
  exclude(commonDir, `/${prefix}${WORKTREES}/`);
  writeWorktreeRecord(projectDir, name, env, { step: 'making', base: head, hadBranch });
  mkdirSync(dirname(dir), { recursive: true });
  // A second attempt finds the branch of the first.
  const added = userGit(projectDir, ['worktree', 'add', '--quiet', '-B', branch, dir, head], env);
  if (!added.ok) {
    clearAway({ projectDir, name, taskPath, env, existing: 'refuse' }, place, hadBranch ? null : head);
    throw new RalphError(
      'refused',
      WORKTREE_TEXTS.gitFailed(`the worktree ${dir} could not be created`, added.complaint),
    );
  }
  // Keeps the loop's own state out of the branch, even if the project has no committed .gitignore for it.
  hideRuntimeDir(loopFiles(place.projectDir, place.name, env));
  const copied = taskPath === null ? [] : copyTask(projectDir, place.projectDir, taskPath, env);
  writeWorktreeRecord(projectDir, name, env, { step: 'made', base: head, hadBranch });
  const short = head.slice(0, 8);
  const left = leftOut(projectDir, copied, env);
  const notices = [
    WORKTREE_TEXTS.begins(branch, dir, short),
    ...(copied.length === 0 ? [] : [WORKTREE_TEXTS.copied(copied)]),
    ...(left === 0 ? [] : [WORKTREE_TEXTS.leftOut(left, short)]),
  ];
  return { place, needsSetUp: true, isNew: true, notices };
}

/** Returns true if the branch exists without commits of its own, false if it does not exist. Throws RalphError otherwise. */
function refuseBranch(projectDir: string, branch: string, env: NodeJS.ProcessEnv): boolean {
  const valid = userGit(projectDir, ['check-ref-format', '--branch', branch], env);
  if (!valid.ok) throw new RalphError('name-taken', WORKTREE_TEXTS.badBranch(branch));
  if (tipOf(projectDir, branch, env) === null) return false;
  const commits = ownCommits(projectDir, [`refs/heads/${branch}`], [branch], env);
  if (commits > 0) throw new RalphError('name-taken', WORKTREE_TEXTS.branchLies(branch, commits));
  return true;
}

function leftOut(projectDir: string, copied: readonly string[], env: NodeJS.ProcessEnv): number {
  const { changed, removed } = changedFiles(projectDir, env);
  return (
    changed.filter((path) => !copied.includes(path) && !path.startsWith('.claude/context/')).length + removed.length
  );
}

function taskNotices({ projectDir, taskPath }: WorktreeRequest, place: WorktreePlace): string[] {
  if (taskPath === null) return [];
  const [here, there] = [join(projectDir, taskPath), join(place.projectDir, taskPath)];
  return existsSync(here) && !isSame(here, there) ? [WORKTREE_TEXTS.taskDiffers(taskPath)] : [];
}

/** Ignores a pattern in this clone only, for all its work trees: `.gitignore` belongs to the user. */
function exclude(commonDir: string, pattern: string): void {
  const path = join(commonDir, 'info', 'exclude');
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  if (text.split(/\r?\n/).includes(pattern)) return;
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, `${text === '' || text.endsWith('\n') ? '' : '\n'}${pattern}\n`);
}

interface SetUp {
  /** The main project, absolute. */
  readonly projectDir: string;
  /** Set-up command of the user; null if there is none. */
  readonly command: string | null;
  readonly copies: readonly string[];
  readonly sandbox: Sandbox | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly tell: (message: string) => void;
}

/** Sets up a new worktree and records success. Throws `refused` with the output of the command that failed. */
export async function setUpWorktree(place: WorktreePlace, setUp: SetUp): Promise<void> {
  const { projectDir, command, copies, env } = setUp;
  const { name } = place;
  const failed = await furnish(place, setUp);
  if (failed !== null)
    throw new RalphError('refused', WORKTREE_TEXTS.setUpFailed(command ?? '', failed.how, failed.output, name));
  const record = readWorktreeRecord(projectDir, name, env);
  if (record === null) return;
  const ours = stampsOf(place.dir, ignoredFiles(place.dir, env));
  writeWorktreeRecord(projectDir, name, env, { ...record, step: 'ready', ours, setUp: command, copies });
}

/**
 * Gives a checkout what the main one has and git does not provide: hooks, submodules, ignored files that the user names, and the
 * results of the set-up command. Returns how that command failed, or null.
 */
export async function furnish({ dir, projectDir }: Pick<WorktreePlace, 'dir' | 'projectDir'>, setUp: SetUp) {
  const { command, copies, sandbox, env, signal, tell } = setUp;
  const { root } = repositoryOf(setUp.projectDir, env);
  takeHooks(root, dir, env);
  const empty = checkOutSubmodules(root, dir, env);
  if (empty.length > 0) tell(WORKTREE_TEXTS.emptySubmodules(empty, dir));
  const copied = copyIgnored(setUp.projectDir, projectDir, copies, env);
  if (copied.length > 0) tell(WORKTREE_TEXTS.copiedIgnored(copied, 'worktree_copy'));
  const included = copyIncluded(root, dir, env);
  if (included.length > 0) tell(WORKTREE_TEXTS.copiedIgnored(included, INCLUDE_FILE));
  const own = { ...env, RALPH_MAIN_PROJECT: setUp.projectDir };
  if (command !== null) tell(WORKTREE_TEXTS.settingUp(command));
  const failed = command === null ? null : await runSetUp(command, projectDir, { sandbox, signal, env: own });
  if (failed === null) for (const problem of hookProblems(root, dir, env)) tell(problem);
  return failed;
}

/**
 * Copies the folder of a relative `core.hooksPath` into a worktree that lacks it, such as `.husky/_`, which git ignores: commits
 * there then run the hooks of the main checkout, in the worktree. Overwrites nothing.
 */
function takeHooks(mainRoot: string, dir: string, env: NodeJS.ProcessEnv): void {
  const folder = relativeHooks(mainRoot, env);
  if (folder === null || leadsOut(folder) || !existsSync(join(mainRoot, folder)) || existsSync(join(dir, folder)))
    return;
  cpSync(join(mainRoot, folder), join(dir, folder), { recursive: true, verbatimSymlinks: true });
}

/**
 * Names why hooks that run in the main checkout could not run in a worktree; empty if all can. `dir`: the worktree; null if it
 * does not exist yet and no command sets it up.
 */
export function hookProblems(mainRoot: string, dir: string | null, env: NodeJS.ProcessEnv): string[] {
  const folder = relativeHooks(mainRoot, env);
  if (folder !== null && leadsOut(folder)) return [WORKTREE_TEXTS.hooksOutside(folder)];
  const hooks = resolve(mainRoot, userGit(mainRoot, ['rev-parse', '--git-path', 'hooks'], env).text.replace(/\n$/, ''));
  const named = namesIn(hooks).filter((name) => !name.endsWith('.sample'));
  const callers = named.filter((name) => readFileSync(join(hooks, name), 'utf8').includes('call_lefthook'));
  const isFound = onPath('lefthook', env) !== null || (dir !== null && existsSync(join(dir, LEFTHOOK)));
  // Without it, the hook prints a line, and git commits as if the hook had passed.
  return callers.length === 0 || isFound || !existsSync(join(mainRoot, LEFTHOOK))
    ? []
    : [WORKTREE_TEXTS.hooksWithout(callers, 'lefthook', LEFTHOOK)];
}

/** Where lefthook's hooks look for it, only in the work tree of the commit. */
const LEFTHOOK = 'node_modules/lefthook';

function leadsOut(folder: string): boolean {
  return normalize(folder).split('/')[0] === '..';
}

/** Returns the configured folder of the hooks if it is relative to the work tree; null otherwise. */
function relativeHooks(mainRoot: string, env: NodeJS.ProcessEnv): string | null {
  const { ok, text } = userGit(mainRoot, ['config', '--type=path', '--get', 'core.hooksPath'], env);
  const folder = text.replace(/\n$/, '');
  return !ok || folder === '' || isAbsolute(folder) ? null : folder;
}
