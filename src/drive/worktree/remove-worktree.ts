import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { namesIn } from '../../state/files/regular-file.ts';
import { withLock } from '../../state/lock/lock.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { isLoopsOwn } from '../../task/left-out.ts';
import { LOOP_DIRECTORIES } from '../../task/task-file.ts';
import { counted } from '../../text/figures.ts';
import { RalphError } from '../../text/message.ts';
import { ignoredFiles, isSame, stampOf, unsavedSubmodules } from './copy-files.ts';
import { some, WORKTREE_TEXTS } from './messages.ts';
import {
  askGit,
  changedFiles,
  isRegistered,
  ownCommits,
  repositoryOf,
  tipOf,
  userGit,
  workTrees,
} from './repository.ts';
import type { WorktreePlace } from './worktree-place.ts';
import {
  dropWorktreeRecord,
  readFreeRecord,
  readWorktreeRecord,
  worktreeLock,
  worktreePlace,
  writeWorktreeRecord,
} from './worktree-place.ts';

interface Removal {
  /** What a person has agreed to lose, as `lossTexts` describes it. */
  readonly agreed?: readonly string[];
  /** Commit of the branch whose content is on the user's branch in other commits. */
  readonly delivered?: string;
  /** Ignored files that the checks create again in any checkout. */
  readonly madeByChecks?: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly at: string;
}

/**
 * Removes a worktree and its branch. Throws `work-lost`, naming the work, if any would be lost without consent. Returns the
 * branch's last commit (`tip`) and the folder with the journals and archive of its loops (`kept`), each null if there was none.
 */
export function removeWorktree(
  projectDir: string,
  name: string,
  { agreed = [], delivered, madeByChecks, env, at }: Removal,
) {
  const place = worktreePlace(projectDir, name);
  const { branch, dir } = place;
  const lock = worktreeLock(projectDir, name, env);
  mkdirSync(dirname(lock), { recursive: true, mode: 0o700 });
  return withLock(lock, () => {
    const record = readFreeRecord(projectDir, name, env);
    const registered = isRegistered(projectDir, dir, env);
    if (!registered && record === null) throw new RalphError('no-loop', WORKTREE_TEXTS.noWorktree(name));
    const { step = 'ready', base = '', hadBranch = false } = record ?? {};
    const rest = { ...record, base, hadBranch };
    // An incomplete worktree holds no work, and a half-removed one lacks some of its files.
    const whole = step !== 'making' && step !== 'removing';
    const loss = whole ? lossTexts(holdingsOf({ projectDir, place, env, delivered, madeByChecks }), branch) : [];
    if (loss.length > 0 && !isDeepStrictEqual(loss, agreed))
      throw new RalphError('work-lost', WORKTREE_TEXTS.wouldLose(name, loss));
    const kept = step === 'removing' ? null : keepJournals(projectDir, place, env, at);
    if (step !== 'making') writeWorktreeRecord(projectDir, name, env, { ...rest, step: 'removing' });
    removeFiles(projectDir, dir, env);
    const tip = tipOf(projectDir, branch, env);
    const isElsewhere = workTrees(projectDir, env).some((tree) => tree.branch === branch);
    const gone = tip !== null && !isElsewhere && (step !== 'making' || !hadBranch);
    if (gone) askGit(projectDir, ['branch', '-D', branch], env, `the branch ${branch} could not be deleted`);
    dropWorktreeRecord(projectDir, name, env);
    return { place, tip: gone ? tip : null, kept };
  });
}

/**
 * Removes the files of a worktree and git's record of it, whatever it contains. Does not prune: that would also drop the
 * user's worktrees whose folders are temporarily out of reach.
 */
export function removeFiles(projectDir: string, dir: string, env: NodeJS.ProcessEnv): void {
  // git's own check would refuse copied files and submodules.
  const words = ['worktree', 'remove', '--force', '--force', dir];
  const removed = userGit(projectDir, words, env);
  // A git process whose parent was killed may still be writing.
  rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  // For git, the partial remains of a killed process are not a worktree, but a missing folder still is.
  if (!removed.ok && isRegistered(projectDir, dir, env)) askGit(projectDir, words, env, `${dir} could not be removed`);
}

/** Keeps a loop's state, journals, memory and proof: nothing of a loop is deleted. */
function keepJournals(
  mainDir: string,
  { name, projectDir }: WorktreePlace,
  env: NodeJS.ProcessEnv,
  at: string,
): string | null {
  const { runtimeDir } = loopFiles(projectDir, name, env);
  if (!existsSync(dirname(runtimeDir))) return null;
  const kept = join(keptFolder(mainDir, env), `${name}-${at.replaceAll(':', '-')}`);
  cpSync(dirname(runtimeDir), dirname(loopFiles(kept, name, env).runtimeDir), { recursive: true });
  for (const loop of namesIn(join(projectDir, LOOP_DIRECTORIES))) {
    const proof = join(LOOP_DIRECTORIES, loop, 'proof.json');
    if (existsSync(join(projectDir, proof))) cpSync(join(projectDir, proof), join(kept, proof));
  }
  return kept;
}

function keptFolder(mainDir: string, env: NodeJS.ProcessEnv): string {
  return join(loopFiles(mainDir, null, env).runtimeDir, 'worktrees');
}

/** Returns the files of the loop `name` kept from its removed worktrees, newest first. */
export function keptFiles(mainDir: string, name: string, env: NodeJS.ProcessEnv): LoopFiles[] {
  const folder = keptFolder(mainDir, env);
  return namesIn(folder)
    .filter((entry) => entry.startsWith(`${name}-`))
    .sort()
    .reverse()
    .map((entry) => loopFiles(join(folder, entry), name, env));
}

/** What the removal of a worktree and its branch would lose; stashes outlive it. Paths are relative to its root. */
export interface Holdings {
  /** Files with uncommitted changes that differ from the main project, even those that git was told not to examine. */
  readonly uncommitted: readonly string[];
  /** True if the user has locked it, so that nothing removes it. */
  readonly isLocked: boolean;
  /** Number of commits that are on no branch but the loop's. */
  readonly unmerged: number;
  /** Commits that were checked out there and are on no branch: the last of each line. */
  readonly adrift: readonly Adrift[];
  /** Files that git ignores and that are neither caches nor created by the set-up of the worktree. */
  readonly ignored: readonly string[];
  /** Submodules with commits that the main project's copy of them lacks. */
  readonly submodules: readonly string[];
  /** Other branches that were checked out there, with commits that only they have. They outlive the worktree. */
  readonly beside: readonly { readonly branch: string; readonly commits: number }[];
}

interface Adrift {
  readonly commit: string;
  readonly commits: number;
}

interface HoldingsRequest {
  readonly projectDir: string;
  readonly place: WorktreePlace;
  readonly env: NodeJS.ProcessEnv;
  /** Commit of the branch whose content is on the user's branch in other commits. */
  readonly delivered?: string | undefined;
  /** Ignored files that the checks create again in any checkout. */
  readonly madeByChecks?: readonly string[] | undefined;
}

/** Returns what removing a worktree and its branch would lose. Throws `refused` if git does not answer. */
export function holdingsOf({ projectDir, place, env, delivered, madeByChecks = [] }: HoldingsRequest): Holdings {
  const { name, dir, branch } = place;
  const gitDir = gitDirOf(projectDir, dir, env);
  const visits = gitDir === null ? NOWHERE : visitsIn(projectDir, gitDir, env);
  const revisions = tipOf(projectDir, branch, env) === null ? [] : [`refs/heads/${branch}`];
  const isThere = existsSync(join(dir, '.git'));
  const { ours = {} } = readWorktreeRecord(projectDir, name, env) ?? {};
  const mainRoot = repositoryOf(projectDir, env).root;
  const isCopy = (path: string): boolean => isSame(join(dir, path), join(mainRoot, path));
  const again = new Set(madeByChecks);
  const ignored = isThere ? ignoredFiles(dir, env) : [];
  return {
    uncommitted: isThere ? uncommitted(place, isCopy, env) : strays(place).filter((path) => !isCopy(path)),
    isLocked: gitDir !== null && existsSync(join(gitDir, 'locked')),
    unmerged: revisions.length === 0 ? 0 : ownCommits(projectDir, revisions, [branch], env, delivered),
    adrift: adriftAmong(projectDir, visits.left, env),
    ignored: ignored.filter((path) => !again.has(path) && ours[path] !== stampOf(dir, path) && !isCopy(path)),
    submodules: isThere ? unsavedSubmodules(mainRoot, dir, env) : [],
    beside: [...visits.branches].flatMap((other) => {
      if (other === branch || tipOf(projectDir, other, env) === null) return [];
      const commits = ownCommits(projectDir, [`refs/heads/${other}`], [other], env);
      return commits === 0 ? [] : [{ branch: other, commits }];
    }),
  };
}

/** Returns descriptions of what would be lost; empty if nothing would be. */
export function lossTexts(holdings: Holdings, branch: string): string[] {
  const { uncommitted: files, isLocked, unmerged, adrift, ignored, submodules } = holdings;
  const are = (all: readonly string[]): string => (all.length === 1 ? 'is' : 'are');
  return [
    ...(files.length === 0
      ? []
      : [`${counted(files.length, 'file')} that ${are(files)} not committed (${some(files)})`]),
    ...(unmerged === 0 ? [] : [`${counted(unmerged, 'commit')} that no branch but ${branch} has`]),
    ...adrift.map(({ commit, commits }) => WORKTREE_TEXTS.adrift(commit.slice(0, 12), commits)),
    ...(ignored.length === 0 ? [] : [`${counted(ignored.length, 'file')} that git ignores (${some(ignored)})`]),
    ...submodules.map((path) => `commits of the submodule ${path} that are only there`),
    ...(isLocked ? ['what its lock protects (git worktree lock)'] : []),
  ];
}

/** Matches what `keepJournals` keeps, relative to the project. */
const KEPT = /^(?:\.claude\/context\/|\.ralph\/[^/]+\/proof\.json$)/;

function uncommitted(place: WorktreePlace, isCopy: (path: string) => boolean, env: NodeJS.ProcessEnv): string[] {
  const { dir, projectDir } = place;
  const { changed, removed } = changedFiles(dir, env, ['--ignore-submodules=none']);
  // The loop's own records are kept, and copied files still exist in the main project.
  const isKept = (path: string): boolean => KEPT.test(relative(projectDir, join(dir, path)).replaceAll(sep, '/'));
  const all = [...changed, ...hiddenChanges(dir, env)];
  return [...all.filter((path) => !isKept(path) && !isCopy(path)), ...removed];
}

/** Lists changed files that are marked as unchanged (`--assume-unchanged`, `--skip-worktree`), so that no status names them. */
function hiddenChanges(dir: string, env: NodeJS.ProcessEnv): string[] {
  const listed = askGit(dir, ['ls-files', '-v', '-s', '-z'], env, 'hidden changes could not be determined');
  const hidden = listed.split('\0').flatMap((line) => {
    const [, id, path] = /^(?:[a-z]|S) \d+ (\S+) 0\t(.*)$/s.exec(line) ?? [];
    return id === undefined || path === undefined || !existsSync(join(dir, path)) ? [] : [{ id, path }];
  });
  return hidden
    .filter(({ id, path }) => userGit(dir, ['hash-object', '--', path], env).text.trim() !== id)
    .map(({ path }) => path);
}

/** Lists the files, except the loop's own, of a folder that is no longer a work tree. */
function strays({ dir, projectDir }: WorktreePlace): string[] {
  if (!existsSync(dir)) return [];
  const from = (folder: string, path: string): string => relative(folder, path).replaceAll(sep, '/');
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !isLoopsOwn(from(projectDir, path)))
    .map((path) => from(dir, path));
}

/** Returns the git folder of a worktree, even after its files were removed by hand; null if git has none. */
function gitDirOf(projectDir: string, dir: string, env: NodeJS.ProcessEnv): string | null {
  const folder = join(repositoryOf(projectDir, env).commonDir, 'worktrees');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const found = names.find((name) => {
    const link = join(folder, name, 'gitdir');
    return existsSync(link) && dirname(readFileSync(link, 'utf8').trim()) === dir;
  });
  return found === undefined ? null : join(folder, found);
}

interface Visits {
  /** Commits from which a checkout moved HEAD away, and that of a detached HEAD. */
  readonly left: readonly string[];
  readonly branches: ReadonlySet<string>;
}

const NOWHERE: Visits = { left: [], branches: new Set() };

/** Reads where the HEAD of a worktree has been. Commits amended, rebased or reset away were abandoned on purpose. */
function visitsIn(projectDir: string, gitDir: string, env: NodeJS.ProcessEnv): Visits {
  const git = (...words: string[]) => userGit(projectDir, [`--git-dir=${gitDir}`, ...words], env);
  const head = git('rev-parse', '--verify', '--quiet', 'HEAD^{commit}');
  const isDetached = !git('symbolic-ref', '--quiet', 'HEAD').ok;
  const log = git('log', '--walk-reflogs', '--no-show-signature', '--format=%H %gs', 'HEAD');
  const entries = log.ok ? log.text.split('\n').filter((line) => line !== '') : [];
  const moves = entries.map((line) => {
    const [commit = ''] = line.split(' ', 1);
    const [, from, to] = /^checkout: moving from (\S+) to (\S+)$/.exec(line.slice(commit.length + 1)) ?? [];
    return { commit, from, to };
  });
  const left = moves.flatMap(({ from }, at) => (from === undefined ? [] : [moves[at + 1]?.commit ?? from]));
  return {
    left: [...(head.ok && isDetached ? [head.text.trim()] : []), ...left],
    branches: new Set(moves.flatMap(({ from = '', to = '' }) => [from, to]).filter((name) => name !== '')),
  };
}

/** Returns the commits that are on no branch, remote branch or tag, without ancestors of another one. */
function adriftAmong(projectDir: string, commits: readonly string[], env: NodeJS.ProcessEnv): Adrift[] {
  const tips: Adrift[] = [];
  for (const commit of new Set(commits)) {
    if (tips.some((tip) => userGit(projectDir, ['merge-base', '--is-ancestor', commit, tip.commit], env).ok)) continue;
    const own = ownCommits(projectDir, [commit], [], env);
    if (own > 0) tips.push({ commit, commits: own });
  }
  return tips;
}
