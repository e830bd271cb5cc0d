import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { uniqueToken, writeAtomically } from '../../state/files/write-atomically.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { capture, withIndex } from './capture.ts';
import { type CheckpointMeta, META_FILE, type NewCheckpointMeta, readCheckpoint } from './checkpoint-meta.ts';
import { askGit, bytesOfGit } from './git.ts';
import { collectState } from './loop-state.ts';
import { GIT_TEXTS } from './messages.ts';
import { type PushOutcome, pushRef } from './mirror.ts';
import { checkCommit } from './place.ts';
import { assertOwnRepository, lastCheckpoint, lastPath, ownCall, scratch, type Workspace } from './workspace-paths.ts';

export { type CheckpointMeta, type PushOutcome, readCheckpoint };

const WHAT = 'the checkpoint was made';
const NAME = 'ralph-loop';
/** Files that a checkpoint lists as left out. */
const MOST_LISTED = 1_000;

/**
 * Makes a commit with the files, what is staged and the loop's state, and returns its name. Its parents are the commit of
 * the work tree, so that the agent's own commits travel along, and the last checkpoint that this workspace was opened from
 * or pushed. Files above 50 MiB and repositories within are left out and listed in it; ignored files are left out. Leaves
 * work tree and index of the agent as they are, and runs no program of the repository. No two commits have one name.
 * Throws RalphError `refused` if the agent replaced its repository, `state-io` if git fails.
 */
export async function makeCheckpoint(
  ws: Workspace,
  meta: NewCheckpointMeta,
  env: NodeJS.ProcessEnv = ws.env,
): Promise<string> {
  assertOwnRepository(ws);
  const { head, work, index, conflict, leftOut } = await capture(ws);
  const described: CheckpointMeta = { outcome: null, reason: '', ...meta, leftOut: leftOut.slice(0, MOST_LISTED) };
  const trees = [
    ['work', work],
    ['index', index],
    ['state', await stateTree(ws, described, env)],
    ...(conflict === null ? [] : [['conflict', conflict]]),
  ];
  const input = trees.map(([name, tree]) => `040000 tree ${tree}\t${name}\0`).join('');
  const tree = await askGit(['mktree', '-z'], { ...ownCall(ws), input }, WHAT);
  const last = lastCheckpoint(ws);
  const parents = [head, ...(last === null ? [] : [last])].flatMap((parent) => ['-p', parent]);
  // Two workers that make the same checkpoint make two commits: else both would count as the one that was pushed.
  const message = `Checkpoint of the loop ${ws.loopId}, iteration ${meta.iteration}\n\nToken: ${uniqueToken()}-${crypto.randomUUID()}\n`;
  const who = ['AUTHOR', 'COMMITTER'].flatMap((role) => [
    [`GIT_${role}_NAME`, NAME],
    [`GIT_${role}_EMAIL`, `${NAME}@localhost`],
    [`GIT_${role}_DATE`, meta.at],
  ]);
  const call = { ...ownCall(ws), input: message, more: Object.fromEntries(who) as Record<string, string> };
  return askGit(['commit-tree', tree, ...parents], call, WHAT);
}

async function stateTree(ws: Workspace, meta: CheckpointMeta, env: NodeJS.ProcessEnv): Promise<string> {
  const folder = join(scratch(ws), `state.${uniqueToken()}`);
  mkdirSync(folder, { mode: 0o700 });
  try {
    collectState(ws.dir, env, folder);
    writeFileSync(join(folder, META_FILE), `${JSON.stringify(meta, null, 2)}\n`);
    return await withIndex(ws, async (index) => {
      const call = { ...ownCall(ws, index), workTree: folder };
      const files = await bytesOfGit(['ls-files', '-z', '--others'], call, WHAT);
      await askGit(['update-index', '-z', '--add', '--stdin'], { ...call, input: files }, WHAT);
      return askGit(['write-tree'], call, WHAT);
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Moves the reference in the repository from `expected` (null: it does not exist) to the checkpoint, in one step. Of any
 * number of workers that expect the same, one is `pushed`. Push the same checkpoint again after `unreachable`: one whose
 * answer was lost is found there. Throws RalphError `usage`, with nothing pushed, for a checkpoint that does not continue
 * `expected`. `tell` gets git's complaint, without credentials.
 */
export async function pushCheckpoint(
  ws: Workspace,
  ref: string,
  sha: string,
  expected: string | null,
  tell: (complaint: string) => void = () => undefined,
): Promise<PushOutcome> {
  checkCommit(sha);
  if (expected !== null) {
    const [, ...parents] = (await askGit(['rev-list', '--parents', '--max-count=1', sha], ownCall(ws), WHAT)).split(
      ' ',
    );
    if (!parents.includes(checkCommit(expected))) throw new RalphError('usage', GIT_TEXTS.notContinued(sha, expected));
  }
  const outcome = await pushRef(ws, ref, sha, expected, tell);
  if (outcome === 'pushed') writeAtomically(lastPath(ws), `${sha}\n`);
  return outcome;
}
