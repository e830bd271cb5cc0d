import { rmdirSync, rmSync } from 'node:fs';
import { ENTRIES, withIndex } from './capture.ts';
import { askGit, bytesOfGit, git, listed, pathBytes } from './git.ts';
import { agentGit, ownCall, type Workspace } from './place.ts';

const WHAT = 'the checkpoint was put back';
const LINK_TO_REPOSITORY = '160000';

/**
 * Changes a clean work tree of a checkpoint's first parent to the checkpoint's files and index. git writes every file and
 * refuses names that lead out of the work tree, through a link or into a git folder.
 */
export async function restoreWork(ws: Workspace, checkpoint: string): Promise<void> {
  const call = ownCall(ws);
  const raw = ['diff-tree', '-r', '-z', '--raw', '--no-renames', `${checkpoint}^1`, `${checkpoint}:work`];
  const { gone, changed } = differences(listed(await bytesOfGit(raw, call, WHAT)));
  for (const path of gone) removeFile(ws, path);
  await withIndex(ws, async (index) => {
    await askGit(['read-tree', `${checkpoint}:work`], ownCall(ws, index), WHAT);
    const input = pathBytes(changed.map((path) => `${path}\0`).join(''));
    await askGit(['checkout-index', '--force', '-z', '--stdin'], { ...ownCall(ws, index), input }, WHAT);
  });
  await restoreIndex(ws, checkpoint);
}

/** Parses `:MODE MODE SHA SHA STATUS`, NUL, path. A link to another repository has no files to restore. */
function differences(parts: readonly string[]): { readonly gone: string[]; readonly changed: string[] } {
  const gone: string[] = [];
  const changed: string[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [before = '', after = '', , , status = ''] = (parts[at] ?? '').slice(1).split(' ');
    const path = parts[at + 1] ?? '';
    if (status.startsWith('D')) {
      if (before !== LINK_TO_REPOSITORY) gone.push(path);
    } else if (after !== LINK_TO_REPOSITORY) changed.push(path);
  }
  return { gone, changed };
}

/** Removes a file that git has just checked out, and folders that become empty, as git does. */
function removeFile(ws: Workspace, path: string): void {
  const at = (name: string): Buffer => Buffer.concat([Buffer.from(`${ws.dir}/`), pathBytes(name)]);
  rmSync(at(path), { force: true });
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    try {
      rmdirSync(at(path.slice(0, end)));
    } catch {
      return; // not empty
    }
  }
}

/** Restores the index, including the sides of a conflict. Keeps the figures of unchanged files: git need not read them. */
async function restoreIndex(ws: Workspace, checkpoint: string): Promise<void> {
  const call = { env: ws.env, gitDir: agentGit(ws), workTree: ws.dir };
  await askGit(['read-tree', '-i', '-m', `${checkpoint}:index`], call, WHAT);
  const conflict = await git(['cat-file', 'blob', `${checkpoint}:conflict/${ENTRIES}`], ownCall(ws));
  if (conflict.ok) {
    await askGit(['update-index', '-z', '--index-info'], { ...call, input: conflict.output }, WHAT);
  }
  // Fails for files that differ, which is allowed.
  await git(['update-index', '-q', '--refresh'], call);
}

/** Writes the files of a checkpoint's `state/` to an empty folder. */
export async function extractState(ws: Workspace, checkpoint: string, to: string): Promise<void> {
  await withIndex(ws, async (index) => {
    const call = { ...ownCall(ws, index), workTree: to };
    await askGit(['read-tree', `${checkpoint}:state`], call, WHAT);
    await askGit(['checkout-index', '--all', '--force'], call, WHAT);
  });
}
