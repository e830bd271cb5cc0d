import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Around, git, must, withFilesIndexed, withIndexCopy } from './record-tree.ts';

/**
 * Returns the git tree of the project's files, untracked ones included, or of those of `commit`, without those that
 * `leavesOut` names. In a repository around the project only its folder counts. Throws if git refuses.
 */
export function projectTree(
  around: Around,
  commit: string | null,
  leavesOut: (path: string) => boolean,
): Promise<string> {
  const within = commit === null ? withFilesIndexed : withIndexCopy;
  return within(around, async (index) => {
    const { top: at, prefix } = around;
    if (commit !== null) must(await git(around, ['read-tree', commit], { index }));
    const listed = await git(around, ['ls-files', '-z', '--full-name', '--', `:(top)${prefix}`], { index, at });
    must(listed);
    const paths = namesIn(listed.text);
    const size = Buffer.byteLength(prefix);
    const gone = paths.filter((path) => leavesOut(onScreen(path.slice(size))));
    if (gone.length === paths.length) return must(await git(around, ['hash-object', '-t', 'tree', '-w', '--stdin']));
    const input = Buffer.from(gone.map((path) => `${path}\0`).join(''), 'latin1');
    must(await git(around, ['update-index', '--force-remove', '-z', '--stdin'], { index, input, at }));
    return must(await git(around, ['write-tree', ...(prefix === '' ? [] : [`--prefix=${prefix}`])], { index }));
  });
}

/** Returns the files that differ between two trees of the project; null if the repository lacks one of them. */
export async function filesBetween(around: Around, one: string, other: string): Promise<string[] | null> {
  const found = await git(around, ['diff-tree', '-r', '-z', '--name-only', '--no-renames', one, other]);
  return found.ok ? namesIn(found.text).map(onScreen) : null;
}

/** Returns which submodules hold what their commit does not, or are not checked out, each with the reason. */
export async function submodulesAside(around: Around): Promise<string[]> {
  const { top: at } = around;
  const listed = await git(around, ['ls-files', '--stage', '-z'], { at });
  const paths = namesIn(must(listed)).flatMap((line) =>
    line.startsWith('160000 ') ? [onScreen(line.slice(line.indexOf('\t') + 1))] : [],
  );
  if (paths.length === 0) return [];
  const status = await git(
    around,
    ['status', '--porcelain=v2', '-z', '--ignore-submodules=none', '--untracked-files=no'],
    { at },
  );
  const dirty = namesIn(must(status)).filter((line) => /^1 \S+ S.(?:M|.U)/.test(line));
  return paths.flatMap((path) => {
    if (!existsSync(join(at, path, '.git')))
      return [`the submodule ${path} is not checked out (git submodule update --init)`];
    const isDirty = dirty.some((line) => onScreen(line).endsWith(` ${path}`));
    return isDirty ? [`the submodule ${path} has changes that its commit does not hold`] : [];
  });
}

const namesIn = (text: string): string[] => text.split('\0').filter((path) => path !== '');

/** Returns a name whose characters are its bytes as text. */
const onScreen = (path: string): string => Buffer.from(path, 'latin1').toString();
