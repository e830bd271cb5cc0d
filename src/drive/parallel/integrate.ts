import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { onPath } from '../../state/process/find-program.ts';
import { isSame } from '../worktree/copy-task.ts';
import { removeWorktree } from '../worktree/remove-worktree.ts';
import { changedFiles, type GitRun, tipOf, userGit } from '../worktree/repository.ts';
import type { WorktreePlace } from '../worktree/worktree-place.ts';
import { dropWorktreeRecord, readWorktreeRecord, worktreePlace } from '../worktree/worktree-place.ts';
import type { Integrate } from './batch.ts';
import { INTEGRATE_TEXTS } from './messages.ts';

interface Integration {
  readonly projectDir: string;
  /** Name of the loop; its branch is `ralph/NAME`. */
  readonly name: string;
  readonly how: Exclude<Integrate, 'none'>;
  /** Body of a pull request. */
  readonly report: string;
  readonly env: NodeJS.ProcessEnv;
}

interface Integrated {
  readonly message: string;
  /** `blocked`: the project itself is the obstacle, so nothing else can be integrated either. */
  readonly outcome: 'done' | 'failed' | 'blocked';
}

/**
 * Integrates the work of a complete loop into the user's current branch. Commits on the loop's branch first what its agent
 * left uncommitted. A conflict leaves both branches unchanged. Removes an integrated worktree. Can be repeated after a kill
 * at any point.
 */
export function integrate(request: Integration): Integrated {
  const { projectDir, name, how, env } = request;
  const place = worktreePlace(projectDir, name);
  const git = (words: readonly string[], dir = projectDir): GitRun => userGit(dir, words, env);
  const failed = (message: string): Integrated => ({ message, outcome: 'failed' });
  const done = (message: string): Integrated => ({ message, outcome: 'done' });
  const remove = (): unknown => removeWorktree(projectDir, name, { force: true, env, at: new Date().toISOString() });
  const record = readWorktreeRecord(projectDir, name, env);
  if (record?.step === 'removing') {
    // A process was killed after the merge: files missing in the worktree are not the agent's work.
    remove();
    return done(INTEGRATE_TEXTS.already(name));
  }
  abandonHalfDone(git, place);
  const tip = tipOf(projectDir, place.branch, env);
  const isThere = existsSync(place.dir);
  if (tip === null && !isThere) {
    dropWorktreeRecord(projectDir, name, env);
    return done(INTEGRATE_TEXTS.already(name));
  }
  const rest = isThere ? commitRest(git, request, place) : null;
  if (rest !== null) return failed(INTEGRATE_TEXTS.failed(name, rest));
  const ahead = git(['rev-list', '--count', `HEAD..${place.branch}`]);
  if (!ahead.ok) return failed(INTEGRATE_TEXTS.failed(name, ahead.complaint));
  if (ahead.text.trim() === '0') {
    if (how === 'pr' || tip === (record?.base ?? tip)) return done(INTEGRATE_TEXTS.nothing(name));
    // A process was killed after the merge and left the worktree.
    remove();
    return done(INTEGRATE_TEXTS.already(name));
  }
  if (how === 'pr') return openPullRequest(git, request, place);
  const { changed, removed } = changedFiles(projectDir, env);
  const own = changed.filter((path) => !path.startsWith('.claude/') && !path.startsWith('.ralph/'));
  if (own.length + removed.length > 0) {
    return { message: INTEGRATE_TEXTS.dirty(own.length + removed.length), outcome: 'blocked' };
  }
  const head = git(['symbolic-ref', '--quiet', '--short', 'HEAD']);
  if (!head.ok) return { message: INTEGRATE_TEXTS.detached, outcome: 'blocked' };
  const refused = how === 'merge' ? merge(git, place) : rebase(git, place, head.text.trim());
  if (refused?.files.length === 0) return failed(INTEGRATE_TEXTS.failed(name, refused.complaint));
  if (refused !== null) return failed(INTEGRATE_TEXTS.conflict(name, place.branch, refused.files));
  remove();
  return done(
    how === 'merge' ? INTEGRATE_TEXTS.merged(name, place.branch) : INTEGRATE_TEXTS.rebased(name, place.branch),
  );
}

type Git = (words: readonly string[], dir?: string) => GitRun;

/** Aborts a merge or rebase of this branch that a killed process left unfinished. */
function abandonHalfDone(git: Git, { dir, branch }: WorktreePlace): void {
  const merging = git(['rev-parse', '--verify', '--quiet', 'MERGE_HEAD']);
  const tip = git(['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`]);
  if (merging.ok && merging.text === tip.text) git(['merge', '--abort']);
  const folder = git(['rev-parse', '--git-path', 'rebase-merge'], dir).text.trim();
  if (folder !== '' && existsSync(folder.startsWith('/') ? folder : join(dir, folder))) git(['rebase', '--abort'], dir);
}

/** Commits what the agent left uncommitted, except the loop's own files. Returns git's error message, or null. */
function commitRest(git: Git, { name, projectDir, env }: Integration, { dir }: WorktreePlace): string | null {
  const { changed, removed } = changedFiles(dir, env);
  const paths = [...changed, ...removed].filter(
    (path) => !/^\.(?:claude|ralph)\/|\/\.ralph-runner\//.test(path) && !isCopy(path, projectDir, dir),
  );
  if (paths.length === 0) return null;
  const added = git(['add', '--all', '--', ...paths.map((path) => `:(literal)${path}`)], dir);
  if (!added.ok) return added.complaint;
  const committed = git(['commit', '--quiet', '-m', `Work of the loop ${name}`], dir);
  return committed.ok ? null : committed.complaint;
}

/** Returns whether the file is a copy of an uncommitted file of the project. */
function isCopy(path: string, projectDir: string, dir: string): boolean {
  const [here, there] = [join(projectDir, path), join(dir, path)];
  if (!existsSync(here) || !existsSync(there)) return false;
  return isSame(here, there);
}

/** Reason why git did not integrate a branch: the files in conflict; without any, git's error message, such as that of a hook. */
interface Refused {
  readonly files: readonly string[];
  readonly complaint: string;
}

/** Merges the branch, regardless of the user's `merge.ff`. Returns null, or the reason after undoing a failed merge. */
function merge(git: Git, { branch }: WorktreePlace): Refused | null {
  const merged = git(['merge', '--ff', '--no-edit', '--quiet', branch]);
  if (merged.ok) return null;
  const files = unmerged(git);
  git(['merge', '--abort']);
  return { files, complaint: merged.complaint };
}

/** Rebases the branch onto the current one and fast-forwards to it. Returns null, or the reason for a failure. */
function rebase(git: Git, { dir, branch }: WorktreePlace, onto: string): Refused | null {
  const rebased = git(['rebase', '--quiet', '--autostash', onto], dir);
  if (!rebased.ok) {
    const files = unmerged(git, dir);
    git(['rebase', '--abort'], dir);
    return { files, complaint: rebased.complaint };
  }
  const moved = git(['merge', '--ff-only', '--quiet', branch]);
  return moved.ok ? null : { files: [], complaint: moved.complaint };
}

function unmerged(git: Git, dir?: string): readonly string[] {
  const listed = git(['diff', '--name-only', '--diff-filter=U', '-z'], dir);
  return listed.text.split('\0').filter((path) => path !== '');
}

/** Pushes the branch and opens a pull request with `gh`. */
function openPullRequest(
  git: Git,
  { name, projectDir, report, env }: Integration,
  { branch }: WorktreePlace,
): Integrated {
  const remote = remoteOf(git);
  if (remote === null) return { message: INTEGRATE_TEXTS.noRemote(name), outcome: 'blocked' };
  const tip = tipOf(projectDir, branch, env);
  const pushed = git(['push', '--quiet', remote, `${tip}:refs/heads/${branch}`]);
  if (!pushed.ok) return { message: INTEGRATE_TEXTS.failed(name, pushed.complaint), outcome: 'failed' };
  const gh = onPath('gh', env);
  if (gh === null) return { message: INTEGRATE_TEXTS.pushed(name, branch, remote), outcome: 'done' };
  const words = ['pr', 'create', '--head', branch, '--title', `ralph-loop: ${name}`, '--body', report];
  const { status, stdout, stderr, error } = spawnSync(gh, words, { cwd: projectDir, env, encoding: 'utf8' });
  if (status === 0) return { message: INTEGRATE_TEXTS.opened(name, stdout.trim()), outcome: 'done' };
  const complaint = (error?.message ?? stderr).trim();
  return { message: INTEGRATE_TEXTS.pullFailed(name, branch, complaint), outcome: 'failed' };
}

/** Returns the remote of the current branch, else `origin`, else the only one; null if there is none. */
function remoteOf(git: Git): string | null {
  const head = git(['symbolic-ref', '--quiet', '--short', 'HEAD']).text.trim();
  const own = head === '' ? '' : git(['config', '--get', `branch.${head}.remote`]).text.trim();
  const all = git(['remote'])
    .text.split('\n')
    .filter((line) => line !== '');
  return [own, 'origin', ...(all.length === 1 ? all : [])].find((name) => all.includes(name)) ?? null;
}
