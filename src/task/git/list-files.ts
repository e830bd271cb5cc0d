import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { askUnderPins, placesOf } from './git-view.ts';
import { type GitAnswer, type GitOptions, partsOf, runGit } from './run-git.ts';

const IGNORED = ['--others', '--ignored', '--exclude-standard'];

/** Lists every file that is in the commit `head` or not ignored, relative to the root; null if git does not answer. */
export async function filesUnderPins(projectDir: string, head: string, options: GitOptions): Promise<string[] | null> {
  const ask = await askUnderPins(projectDir, head, options);
  const answer = await ask(['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--full-name', ':/']);
  return listed(answer);
}

/** Lists ignored files and, as one entry each, ignored folders, relative to the root; null if git does not answer. */
export async function ignoredUnderPins(
  projectDir: string,
  head: string,
  options: GitOptions,
): Promise<string[] | null> {
  const ask = await askUnderPins(projectDir, head, options);
  const answer = await ask(['ls-files', '-z', ...IGNORED, '--directory', '--full-name', ':/']);
  const found = listed(answer);
  return found && outermost(found).map((path) => path.replace(/\/$/, ''));
}

/** Returns paths without those inside a listed folder: git lists both if a .gitignore in the folder ignores everything in it. */
export function outermost(paths: readonly string[]): string[] {
  // There may be thousands of both, so paths are not compared with every folder.
  const folders = new Set(paths.filter((path) => path.endsWith('/')));
  const isInside = (path: string): boolean => {
    for (let end = path.indexOf('/'); end !== -1 && end < path.length - 1; end = path.indexOf('/', end + 1))
      if (folders.has(path.slice(0, end + 1))) return true;
    return false;
  };
  return paths.filter((path) => !isInside(path));
}

/** Lists the ignored files that match a glob, relative to the root; null if git does not answer. */
export async function ignoredFiles(
  projectDir: string,
  globs: readonly string[],
  options: GitOptions,
): Promise<string[] | null> {
  if (globs.length === 0) return [];
  const patterns = globs.map((glob) => `:(glob)${glob}`);
  return listed(await runGit(projectDir, ['ls-files', '-z', ...IGNORED, '--full-name', '--', ...patterns], options));
}

function listed(answer: GitAnswer): string[] | null {
  return answer.kind === 'answer' ? [...new Set(partsOf(answer.text))] : null;
}

/** Time limit for writing all files of a commit. */
const CHECK_OUT_MS = 600_000;

/**
 * Writes the files of a commit into a copy that contains a view of git, under its pins. Returns the files of submodules, which
 * a commit only links to, relative to the root; null if git fails.
 */
export async function checkOut(
  copy: string,
  commit: string,
  top: string,
  options: GitOptions,
): Promise<string[] | null> {
  const { view = null } = options;
  const gitDir = join(copy, '.git');
  rmSync(join(gitDir, 'index'), { force: true });
  const own = { ...options, inView: { gitDir, workTree: copy }, writable: copy, timeMs: CHECK_OUT_MS };
  // git-lfs keeps its files in the repository's folder, outside commits.
  const large = ['lfs.storage', join(view === null ? '' : placesOf(view).gitDir, 'lfs')] as const;
  const written = await runGit(copy, ['read-tree', '--reset', '-u', commit], own, [large]);
  const entries = listed(await runGit(copy, ['ls-files', '-z', '-t', '--stage'], own));
  if (written.kind !== 'answer' || entries === null) return null;
  const paths = (kind: RegExp): string[] =>
    entries.filter((entry) => kind.test(entry)).map((entry) => entry.slice(entry.indexOf('\t') + 1));
  // A sparse checkout leaves these out, and yet the project has them, such as what the agent has made there.
  const beside = paths(/^S (?!160000)/).filter((path) => existsSync(join(top, path)));
  if (beside.length > 0) {
    const list = join(gitDir, 'beside');
    writeFileSync(list, beside.join('\0'));
    const words = ['checkout', '--ignore-skip-worktree-bits', `--pathspec-from-file=${list}`, '--pathspec-file-nul'];
    const more = await runGit(copy, ['--literal-pathspecs', ...words], own, [large]);
    if (more.kind !== 'answer') return null;
  }
  const modules = paths(/^. 160000 /);
  const files = await Promise.all(modules.map((path) => filesOfModule(join(top, path), path, options)));
  return files.flat();
}

/** Lists the tracked files of a submodule, relative to the root of its project; none if it is not checked out. */
async function filesOfModule(directory: string, path: string, options: GitOptions): Promise<string[]> {
  if (!existsSync(join(directory, '.git'))) return [];
  const names = listed(await runGit(directory, ['ls-files', '-z', '--recurse-submodules'], { ...options, view: null }));
  return (names ?? []).map((name) => `${path}/${name}`);
}
