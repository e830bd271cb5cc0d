import { lstatSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { firstLine, quoted } from '../../text/quote.ts';
import { isLoopsOwn } from '../left-out.ts';
import { isWithin, repositoryRoot } from '../project-file.ts';
import { WORKTREES } from '../task-file.ts';
import { STATUS, statusUnderPins } from './git-view.ts';
import { askPlaces, type GitAnswer, type GitOptions, partsOf, placesIn, runGit } from './run-git.ts';

export interface Repository {
  readonly branch: string | null;
  readonly head: string | null;
  /** True if work tree and index match the commit and there are no untracked files, not even the loop's own. */
  readonly isClean: boolean;
  readonly isIndexHead: boolean;
  /** Changed and untracked files relative to the project, without the loop's own; sorted. */
  readonly changed: readonly string[];
  /** Files of `changed` that may differ only in the index. */
  readonly halfStaged: readonly string[];
  /** Sentence that names an unfinished merge, rebase or the like, and how to end it; null if there is none. */
  readonly unfinished: string | null;
  /** Files of `changed` that git shows only under the settings and ignore rules of the start. */
  readonly concealed: readonly string[];
  readonly gitDir: string;
}

/**
 * Reads the state of the repository, or returns why it cannot. `placed`: the project's place in it, if the caller asks git
 * anyway; null if git did not answer. Rejects only with the abort reason.
 */
export async function readRepository(
  projectDir: string,
  options: GitOptions,
  placed: Promise<{ readonly top: string; readonly prefix: string; readonly gitDir: string } | null> | null = null,
): Promise<Repository | string> {
  const ask = (words: readonly string[]) => runGit(projectDir, words, options);
  const known = options.view?.index()?.commit ?? null;
  const place = async () => {
    const found = await ask(askPlaces(['--show-toplevel'], ['--show-prefix'], ['--absolute-git-dir']));
    const [top = '', prefix = '', gitDir = ''] = found.kind === 'answer' ? placesIn(found.text) : [];
    return { kind: found.kind, top, prefix, gitDir };
  };
  const [places, status, underKnown] = await Promise.all([
    placed === null ? place() : placed.then((found) => (found ? { kind: 'answer' as const, ...found } : place())),
    ask([...STATUS, '--branch', '--no-ahead-behind']),
    // The view nearly always shows HEAD's commit already, so the query does not wait for its name.
    known === null ? null : statusUnderPins(projectDir, known, options),
  ]);
  if (places.kind === 'missing') return 'git was not found on the PATH.';
  if (places.kind !== 'answer') {
    if ((await ask(['rev-parse', '--git-dir'])).kind === 'answer') return 'the repository has no working tree.';
    return (
      unopenedText(projectDir) ?? 'the project is not in a git repository. Create one: git init, then commit the files.'
    );
  }
  const { top, prefix, gitDir } = places;
  const unfinished = unfinishedText(gitDir);
  if (!isWithin(realpathSync(top), realpathSync(projectDir)))
    return 'this repository has its working tree elsewhere (git config core.worktree).';
  if (status.kind !== 'answer') return unansweredText(status);
  const { branch, head } = headIn(status.text);
  const pinned = head === null ? null : head === known ? underKnown : await statusUnderPins(projectDir, head, options);
  if (pinned !== null && pinned.kind !== 'answer') return unansweredText(pinned);
  const { changed, halfStaged } = changedIn(status.text, prefix, projectDir);
  const concealed = (pinned === null ? [] : changedIn(pinned.text, prefix, projectDir).changed).filter(
    (path) => !changed.includes(path) && !path.startsWith(`${WORKTREES}/`),
  );
  const lines = partsOf(status.text).filter((line) => !line.startsWith('# '));
  const isClean = concealed.length === 0 && lines.length === 0;
  const isIndexHead = lines.every((line) => /^(?:1 \.|\? )/.test(line));
  const all = [...changed, ...concealed].sort();
  return { branch, head, isClean, isIndexHead, changed: all, halfStaged, unfinished, concealed, gitDir };
}

function unansweredText(answer: Exclude<GitAnswer, { kind: 'answer' }>): string {
  if (answer.kind !== 'failed' || answer.said === '') return `git status did not answer (${answer.kind}).`;
  // Advice of git may come first.
  const why = /^(?:fatal|error): .*$/m.exec(answer.said)?.[0] ?? firstLine(answer.said);
  return `git status failed: ${why.replace(/\.$/, '')}.`;
}

/** Returns branch and commit from `git status --porcelain=v2 --branch -z`; null if HEAD is detached or has no commit yet. */
function headIn(status: string): Pick<Repository, 'branch' | 'head'> {
  const [, oid = null] = /(?:^|\0)# branch\.oid ([0-9a-f]+)\0/.exec(status) ?? [];
  const [, name = null] = /(?:^|\0)# branch\.head ([^\0]+)\0/.exec(status) ?? [];
  return { head: oid, branch: name === '(detached)' ? null : name };
}

/** Pattern for `1 XY sub mH mI mW hH hI path`, `u XY sub m1 m2 m3 mW h1 h2 h3 path` and `? path`. */
const CHANGE = /^(?:1 (\S\S) (?:\S+ ){6}|u (\S\S) (?:\S+ ){8}|\? )(.+)$/s;

function changedIn(status: string, prefix: string, projectDir: string): Pick<Repository, 'changed' | 'halfStaged'> {
  const lines = status.split('\0').flatMap((line) => {
    const [, changed, unmerged, name] = CHANGE.exec(line) ?? [];
    const path = name === undefined ? null : fromProject(name, prefix);
    if (path === null || isLoopsOwn(path)) return [];
    const marks = changed ?? unmerged ?? '?';
    return marks === '?' && isDevice(join(projectDir, path)) ? [] : [{ marks, path }];
  });
  const unknown = new Set(lines.filter(({ marks }) => marks === '?').map(({ path }) => path));
  // A file staged as new that exists is a change as well; status would not list it if git ignores it.
  const isHalf = ({ marks, path }: { readonly marks: string; readonly path: string }): boolean =>
    /^(?:[MTD][MTDA]|AD)$/.test(marks) || (marks === 'D.' && unknown.has(path));
  return {
    changed: [...new Set(lines.map(({ path }) => path))].sort(),
    halfStaged: lines.filter(isHalf).map(({ path }) => path),
  };
}

/** Returns whether a path is a device: a client's sandbox mounts those over missing files; git lists them, but cannot add them. */
export function isDevice(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isCharacterDevice() === true;
}

function fromProject(path: string, prefix: string): string {
  if (path.startsWith(prefix)) return path.slice(prefix.length);
  return `${'../'.repeat(prefix.split('/').length - 1)}${path}`;
}

const MOST_HIDDEN = 10_000;
/** Size of a list of all files: enough for two million. */
const MOST_LISTED = 256 * 1024 * 1024;

/** Lists files hidden from git status (assume-unchanged, skip-worktree). null if git does not answer or for more than 10,000. */
export async function hiddenFiles(projectDir: string, options: GitOptions): Promise<string[] | null> {
  const listed = await runGit(projectDir, ['ls-files', '-v', '-z'], { ...options, mostOutput: MOST_LISTED });
  if (listed.kind !== 'answer') return null;
  const isThere = (path: string): boolean => lstatSync(join(projectDir, path), { throwIfNoEntry: false }) !== undefined;
  const marked = partsOf(listed.text).filter((line) => /^[a-zS] /.test(line));
  const hidden = marked.map((line) => line.slice(2)).filter(isThere);
  return hidden.length <= MOST_HIDDEN ? hidden : null;
}

export async function lastCommit(
  projectDir: string,
  options: GitOptions,
): Promise<{ readonly parent: string; readonly subject: string } | null> {
  const answer = await runGit(projectDir, ['log', '-1', '--format=%P%n%s'], options);
  if (answer.kind !== 'answer') return null;
  const [parents = '', subject = ''] = answer.text.split('\n');
  const [parent] = parents.split(' ');
  return parent ? { parent, subject } : null;
}

/** Returns whether HEAD is this commit or comes after it. */
export async function isInHistory(projectDir: string, commit: string, options: GitOptions): Promise<boolean> {
  const answer = await runGit(projectDir, ['merge-base', '--is-ancestor', commit, 'HEAD'], options);
  return answer.kind === 'answer';
}

export interface Commit {
  readonly id: string;
  /** Its abbreviation and subject. */
  readonly text: string;
}

/** Lists the commits on the branch itself from a commit to HEAD, oldest first. */
export async function commitsSince(projectDir: string, since: string, options: GitOptions): Promise<Commit[]> {
  if (!/^[0-9a-f]{40,64}$/.test(since)) return [];
  const words = ['log', '--first-parent', '--reverse', '--no-show-signature', '--format=%H %h %s', `${since}..HEAD`];
  const answer = await runGit(projectDir, words, options);
  const found = answer.kind === 'answer' ? answer.text.split('\n').filter((line) => line !== '') : [];
  return found.map((line) => ({ id: line.replace(/ .*/s, ''), text: line.replace(/^\S+ /, '') }));
}

/** Lists files in which HEAD differs from a commit, relative to the project; null if git does not answer. */
export async function filesSince(projectDir: string, base: string, options: GitOptions): Promise<string[] | null> {
  const ask = (words: readonly string[]) => runGit(projectDir, words, options);
  const files = await ask(['diff-tree', '--name-only', '--no-renames', '-r', '-z', base, 'HEAD', '--']);
  const prefix = await ask(['rev-parse', '--show-prefix']);
  if (files.kind !== 'answer' || prefix.kind !== 'answer') return null;
  const [begin = ''] = placesIn(prefix.text);
  return partsOf(files.text).map((path) => fromProject(path, begin));
}

/** Explains why git does not open a `.git` here or above: another owner, as in many containers, or a broken configuration. */
export function unopenedText(directory: string): string | null {
  const root = repositoryRoot(directory);
  return root === null
    ? null
    : `git does not open the repository ${root}; git status says why. Where it belongs to another user: git config --global --add safe.directory ${quoted(root)}`;
}

/** Unfinished operations of git, by the path that shows each. A rebase is first: it leaves other marks as well. */
const BEGUN = [
  ['rebase-merge', 'rebase'],
  ['rebase-apply/applying', 'am'],
  ['rebase-apply', 'rebase'],
  ['MERGE_HEAD', 'merge'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
  ['BISECT_LOG', 'bisect'],
] as const;

/** Returns git's unfinished operation, such as a merge with conflicts, and when it began (epoch milliseconds); null if there is none. */
export function unfinishedIn(gitDir: string) {
  for (const [path, command] of BEGUN) {
    const begunAt = statSync(join(gitDir, path), { throwIfNoEntry: false })?.mtimeMs;
    if (begunAt !== undefined) return { command, begunAt };
  }
  return null;
}

/** Age from which the lock of an index is taken for that of a killed git: one at work removes its own within moments. */
const OLD_LOCK_MS = 10_000;

/** Returns the sentence that names what keeps git from committing, and how to end it; null for nothing, or only a bisect. */
export function unfinishedText(gitDir: string): string | null {
  const lock = join(gitDir, 'index.lock');
  const lockedAt = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
  if (lockedAt < Date.now() - OLD_LOCK_MS)
    return `${lock} is there, so git cannot commit. If no git is at work, one was killed. To remove its lock: rm ${quoted(lock)}`;
  const command = unfinishedIn(gitDir)?.command;
  if (command === undefined || command === 'bisect') return null;
  return `A git ${command} is not finished. To end it: git ${command} --continue, or git ${command} --abort.`;
}
