import { join, resolve } from 'node:path';
import type { Marks } from '../../engine/schema/records.ts';
import { submodulesOf } from '../git/nested-repositories.ts';
import type { GitAnswer, GitOptions, Settings } from '../git/run-git.ts';
import { askWithoutFilters, NO_FILE, partsOf, runGit } from '../git/run-git.ts';
import { prefixInRepository } from '../project-file.ts';
import { compareMarks, type FolderLimits, isSameMark, markFile, markFolder, type ReadBudget } from './marks.ts';
import { OTHERS, parseStatus, STATUS } from './snapshot.ts';

/** Files of the project when a loop started. Paths are relative to the project. */
export interface StartFiles {
  /** Commit (or the empty tree), and marks of the files that differed from it or were untracked; null without git. */
  readonly git: { readonly head: string; readonly marks: Readonly<Record<string, string>> } | null;
  /** Marks of folders that git does not compare: the whole project without git, a task folder, and each submodule. */
  readonly folders: Readonly<Record<string, Marks>>;
}

export interface Changes {
  readonly files: readonly string[];
  /** True if every change would have been found. */
  readonly known: boolean;
}

const LIMITS: FolderLimits = { entries: 20_000, bytes: 64 * 1024 * 1024, timeMs: 3_000 };
const GIT_MS = 10_000;

/**
 * Reads the files of the project. `taskDir`: a task folder, where ignored files count as well; null for another task. Rejects
 * only with the abort reason.
 */
export async function readStartFiles(
  projectDir: string,
  taskDir: string | null,
  options: GitOptions,
): Promise<StartFiles> {
  const root = resolve(projectDir);
  const git = await gitNow(root, options);
  const folders =
    git === null ? [''] : [...(taskDir === null ? [] : [taskDir]), ...(await submodulesOf(root, options))];
  return {
    git: git && { head: git.head, marks: marksOf(root, git.files) },
    folders: Object.fromEntries(folders.map((folder) => [folder, markFolder(root, folder, LIMITS)])),
  };
}

/** Returns the files whose content differs from that at the start, committed or not. Rejects only with the abort reason. */
export async function changesSinceStart(
  projectDir: string,
  { git, folders }: StartFiles,
  options: GitOptions,
): Promise<Changes> {
  const root = resolve(projectDir);
  const found = Object.entries(folders).map(([folder, before]) =>
    compareMarks(before, markFolder(root, folder, LIMITS)),
  );
  if (git !== null) found.push(await changesInGit(root, git, options));
  return {
    files: [...new Set(found.flatMap(({ changed }) => changed))].toSorted(),
    known: found.every(({ known }) => known),
  };
}

/** Returns the files that differ between two reads, as `changesSinceStart` does; asks git only if HEAD has moved. */
export async function filesThatDiffer(
  projectDir: string,
  before: StartFiles,
  after: StartFiles,
  options: GitOptions,
): Promise<readonly string[]> {
  if (before.git?.head !== after.git?.head) return (await changesSinceStart(projectDir, before, options)).files;
  const [marks, now] = [before.git?.marks ?? {}, after.git?.marks ?? {}];
  // A file without a mark equals its committed version.
  const paths = Object.keys({ ...marks, ...now }).filter((path) => !hasSameMark(marks[path], now[path]));
  const inFolders = Object.entries(before.folders).flatMap(([folder, found]) => {
    const again = after.folders[folder];
    return again ? compareMarks(found, again).changed : Object.keys(found.files);
  });
  return [...new Set([...paths, ...inFolders])].toSorted();
}

function hasSameMark(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined && isSameMark(one, other);
}

async function changesInGit(
  root: string,
  { head, marks }: NonNullable<StartFiles['git']>,
  options: GitOptions,
): Promise<ReturnType<typeof compareMarks>> {
  const now = await filesBesides(root, head, options);
  if (now === null) return { changed: [], known: false };
  const current = marksOf(root, Object.keys(marks));
  const differ = Object.entries(marks).filter(([path, mark]) => !isSameMark(mark, current[path] ?? 'absent'));
  // All other files equalled their committed version then.
  const others = now.filter((path) => !Object.hasOwn(marks, path));
  return { changed: [...differ.map(([path]) => path), ...others], known: true };
}

/** Returns HEAD and the files that differ from it; null without git, or if an outer repository ignores the project. */
async function gitNow(root: string, options: GitOptions) {
  const prefix = prefixInRepository(root);
  if (prefix === null) return null;
  const ask = asking(root, options);
  const [ignored, status, others] = await Promise.all([
    prefix === '' ? null : ask(['check-ignore', '--quiet', '.']),
    askWithoutFilters(ask, prefix === '' ? STATUS : [...STATUS, '--', '.']),
    ask(OTHERS),
  ]);
  if (ignored?.kind === 'answer' || status.kind !== 'answer' || others.kind !== 'answer') return null;
  const said = parseStatus(status.text);
  if (said === null) return null;
  // Before the first commit every file is new.
  const empty = said.head === '(initial)' ? await ask(['hash-object', '-t', 'tree', NO_FILE]) : null;
  if (empty !== null && empty.kind !== 'answer') return null;
  // A staged file may equal its committed version again; a mark then records that.
  const tracked = [...Object.keys(said.index), ...said.dirty].map((path) => path.slice(prefix.length));
  return { head: empty?.text.trim() ?? said.head, files: [...new Set([...tracked, ...partsOf(others.text)])] };
}

/** Returns files that differ from a commit, and untracked files; null if git does not answer. */
async function filesBesides(root: string, head: string, options: GitOptions): Promise<string[] | null> {
  const ask = asking(root, options);
  const diff = ['diff', '--name-only', '-z', '--no-renames', '--no-ext-diff', '--no-textconv', '--relative'];
  const [tracked, others] = await Promise.all([
    askWithoutFilters(ask, [...diff, '--ignore-submodules=dirty', head, '--', '.']),
    ask(OTHERS),
  ]);
  if (tracked.kind !== 'answer' || others.kind !== 'answer') return null;
  return [...new Set([...partsOf(tracked.text), ...partsOf(others.text)])];
}

function asking(root: string, options: GitOptions) {
  return (words: readonly string[], settings?: Settings): Promise<GitAnswer> =>
    runGit(root, words, { ...options, timeMs: GIT_MS }, settings);
}

/** Returns the marks of files, by path relative to `root`; an absent or unreadable file has a mark of its own. */
export function marksOf(root: string, paths: readonly string[]): Record<string, string> {
  const budget: ReadBudget = { files: LIMITS.entries, bytes: LIMITS.bytes };
  const marks = paths.map((path) => {
    const found = markFile(join(root, path), budget);
    return [path, found.kind === 'mark' ? found.mark : found.kind] as const;
  });
  return Object.fromEntries(marks);
}
