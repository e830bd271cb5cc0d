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

const namesIn = (text: string): string[] => text.split('\0').filter((path) => path !== '');

/** Returns a name whose characters are its bytes as text. */
const onScreen = (path: string): string => Buffer.from(path, 'latin1').toString();
