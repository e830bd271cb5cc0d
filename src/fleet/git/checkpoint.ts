import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { readRegularFile, uniqueToken, writeAtomically } from '../../state/files/regular-file.ts';
import { RalphError } from '../../text/message.ts';
import { GIT_TEXTS } from '../messages.ts';
import { capture, withIndex } from './capture.ts';
import { askGit, bytesOfGit, git } from './git.ts';
import { collectState } from './loop-state.ts';
import { type PushOutcome, pushRef } from './mirror.ts';
import { assertOwnRepository, checkCommit, lastPath, ownCall, scratch, type Workspace } from './place.ts';

/** Name of a file in a checkpoint's `state/`. */
const META_FILE = 'fleet.json';

const count = z.int().min(0);

const checkpointMeta = z.object({
  v: z.literal(1),
  loopId: z.string().min(1).max(200),
  generation: count,
  attempt: count,
  iteration: count,
  takeOvers: count,
  /** True if its worker ended the claim itself; false while it works. */
  signedOff: z.boolean(),
  lastCommand: z.string().max(200).nullable(),
  contractDigest: z.string().max(200),
  spent: z.object({ costUsd: z.number().min(0).nullable(), tokens: z.number().min(0) }),
  /** End of the loop in this generation, with its reason; null while it continues. */
  outcome: z.string().max(100).nullable().default(null),
  reason: z.string().max(20_000).default(''),
  /** Signed submission, so that a loop can be queued again from its repository alone. */
  submission: z.unknown().optional(),
  at: z.iso.datetime(),
  leftOut: z
    .array(z.object({ path: z.string(), why: z.enum(['size', 'repository', 'unreadable', 'special']) }))
    .default([]),
});

export type CheckpointMeta = z.infer<typeof checkpointMeta>;
/** Description without what `makeCheckpoint` finds itself. */
export type Meta = Omit<CheckpointMeta, 'leftOut'>;

/** Reads a checkpoint's description from a git folder. Throws RalphError `state-corrupt` if it is invalid. */
export async function readCheckpoint(gitDir: string, sha: string, env: NodeJS.ProcessEnv): Promise<CheckpointMeta> {
  const invalid = (problem: string, cause?: unknown): RalphError =>
    new RalphError('state-corrupt', GIT_TEXTS.badCheckpoint(sha, problem), cause);
  const found = await git(['cat-file', 'blob', `${checkCommit(sha)}:state/${META_FILE}`], { env, gitDir });
  if (!found.ok) throw invalid(found.complaint);
  let value: unknown;
  try {
    value = JSON.parse(found.output.toString('utf8'));
  } catch (error) {
    throw invalid('its description is not valid JSON', error);
  }
  const parsed = checkpointMeta.safeParse(value);
  if (!parsed.success) throw invalid(z.prettifyError(parsed.error), parsed.error);
  return parsed.data;
}

const WHAT = 'the checkpoint was made';
const NAME = 'ralph-loop';
/** Maximum number of omitted files that a checkpoint lists. */
const MOST_LISTED = 1_000;

/**
 * Makes a commit with the files, the index and the loop's state, and returns its name. Its parents are the commit of the work
 * tree, so that the agent's own commits are included, and the last checkpoint that this workspace was opened from or pushed.
 * Files above 50 MiB and nested repositories are omitted and listed in it; ignored files are omitted. Does not change the
 * agent's work tree and index, and runs no program of the repository. No two commits have the same name. Throws RalphError
 * `refused` if the agent replaced its repository, `state-io` if git fails.
 */
export async function makeCheckpoint(ws: Workspace, meta: Meta): Promise<string> {
  assertOwnRepository(ws);
  const { head, work, index, conflict, leftOut } = await capture(ws);
  const described: CheckpointMeta = { ...meta, leftOut: leftOut.slice(0, MOST_LISTED) };
  const trees = [
    ['work', work],
    ['index', index],
    ['state', await stateTree(ws, described)],
    ...(conflict === null ? [] : [['conflict', conflict]]),
  ];
  const input = trees.map(([name, tree]) => `040000 tree ${tree}\t${name}\0`).join('');
  const tree = await askGit(['mktree', '-z'], { ...ownCall(ws), input }, WHAT);
  const last = readRegularFile(lastPath(ws), 100)?.trim() || null;
  const parents = [head, ...(last === null ? [] : [last])].flatMap((parent) => ['-p', parent]);
  // Two workers that make the same checkpoint make two commits; otherwise both would count as the pushed one.
  const message = `Checkpoint of the loop ${ws.loopId}, iteration ${meta.iteration}\n\nToken: ${uniqueToken()}-${crypto.randomUUID()}\n`;
  const who = ['AUTHOR', 'COMMITTER'].flatMap((role) => [
    [`GIT_${role}_NAME`, NAME],
    [`GIT_${role}_EMAIL`, `${NAME}@localhost`],
    [`GIT_${role}_DATE`, meta.at],
  ]);
  const call = { ...ownCall(ws), input: message, more: Object.fromEntries(who) as Record<string, string> };
  return askGit(['commit-tree', tree, ...parents], call, WHAT);
}

async function stateTree(ws: Workspace, meta: CheckpointMeta): Promise<string> {
  const folder = join(scratch(ws), `state.${uniqueToken()}`);
  mkdirSync(folder, { mode: 0o700 });
  try {
    collectState(ws.dir, ws.env, folder);
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
 * Moves the reference in the repository from `expected` (null: it does not exist) to the checkpoint, in one step. Of all
 * workers that expect the same, only one is `pushed`. Push the same checkpoint again after `unreachable`: if only the answer
 * was lost, it is found there. Throws RalphError `usage`, with nothing pushed, for a checkpoint that does not continue
 * `expected`. `tell` receives git's error, without credentials.
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
