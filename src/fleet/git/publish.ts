import { join } from 'node:path';
import { onPath } from '../../state/process/find-program.ts';
import { runToEnd } from '../../state/process/run-to-end.ts';
import { IDENTITY, onScreen, refOf } from '../../task/git/record-tree.ts';
import { RalphError } from '../../text/message.ts';
import { redact } from '../../text/redact/redact.ts';
import { GIT_TEXTS, PUBLISH_TEXTS } from '../messages.ts';
import { changedFiles, headOf, treeOf } from './checkpoint.ts';
import { askGit, bytesOfGit, type GitCall, git, listed } from './git.ts';
import { type PushOutcome, pushRef, readRef } from './mirror.ts';
import { agentCall, assertOwnRepository, checkCommit, ownCall, ownGit, type Workspace } from './place.ts';

interface Publication {
  readonly branch: string;
  readonly how: 'none' | 'branch' | 'pull-request';
  /** Branch on which the work began, and the target of a pull request. */
  readonly base: string;
  /** Body of a pull request. */
  readonly report: string;
  /** Known commit of the branch in the repository; null if it does not exist. */
  readonly expected: string | null;
}

export interface PublishOutcome {
  /** `same`: there are no commits to publish. */
  readonly kind: PushOutcome | 'none' | 'same';
  /** Actual or intended commit of the branch; null if nothing was requested. */
  readonly sha: string | null;
  readonly pullRequest: string | null;
  /** Empty if nothing was requested, or if a branch was pushed as requested. */
  readonly message: string;
}

const WHAT = 'the work was published';

/**
 * Pushes the commits of a workspace as a branch, including a last one with uncommitted changes, and opens a pull request if
 * requested and gh is installed. Does not publish files of the loop and of the client. Leaves a branch that was moved
 * meanwhile unchanged (`fenced`). Runs no hooks of the repository. Throws RalphError `state-io`.
 */
export async function publish(ws: Workspace, request: Publication): Promise<PublishOutcome> {
  const { branch, how, base, expected } = request;
  const end = (kind: PublishOutcome['kind'], sha: string | null, message: string): PublishOutcome => {
    return { kind, sha, pullRequest: null, message };
  };
  if (how === 'none') return end('none', null, '');
  assertOwnRepository(ws);
  if (expected !== null) checkCommit(expected);
  const { head, tree } = await workOf(ws);
  // An earlier publication of the same work was interrupted after its push.
  const isThere = tree !== null && expected !== null && (await isCommitOf(ws, request, head, tree));
  const sha = isThere ? expected : await committed(ws, head, tree);
  const baseRef = `refs/heads/${nameOf(base)}`;
  const ahead = await git(['rev-list', '--count', '--max-count=1', sha, '--not', baseRef], normalCall(ws));
  if (ahead.ok && ahead.output.toString('utf8').trim() === '0') return end('same', sha, PUBLISH_TEXTS.same(branch));
  let said = '';
  const kind = await pushRef(ws, `refs/heads/${nameOf(branch)}`, sha, expected, (complaint) => {
    said = complaint;
  });
  if (kind !== 'pushed') return end(kind, sha, said);
  if (how === 'branch') return end(kind, sha, '');
  return { ...end(kind, sha, ''), ...(await openPullRequest(ws, request)) };
}

/**
 * Lists the files whose published version differs from that at the end of the loop: those that no commit of ours contains,
 * and those that a process changed after the checks. Null if unknown, as when another worker ended the loop.
 */
export async function unlikeAtEnd(ws: Workspace, loopId: string, sha: string): Promise<string[] | null> {
  const end = await git(['rev-parse', '--verify', '--quiet', `${refOf(loopId, 'end')}^{commit}`], agentCall(ws));
  if (!end.ok) return null;
  const words = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', end.output.toString('utf8').trim(), sha];
  return listed(await bytesOfGit(words, ownCall(ws), WHAT))
    .filter(isWork)
    .map(onScreen);
}

const nameOf = (ref: string): string => ref.replace(/^refs\/heads\//, '');

/** Returns the call of git with the repository's attributes and without the agent's settings. */
function normalCall(ws: Workspace, index?: string): GitCall {
  const objects = join(ownGit(ws), 'objects');
  return { env: ws.env, gitDir: ws.mirror, workTree: ws.dir, objects, ...(index !== undefined && { index }) };
}

/** Returns the agent's last commit, and the tree of its uncommitted changes; null if there are none. */
async function workOf(ws: Workspace): Promise<{ readonly head: string; readonly tree: string | null }> {
  const head = await headOf(ws);
  const { kept, gone } = await changedFiles(ws, head);
  const files = { kept: kept.filter(isWork), gone: gone.filter(isWork) };
  if (files.kept.length + files.gone.length === 0) return { head, tree: null };
  const tree = await treeOf(head, files, ws, (index) => normalCall(ws, index));
  const before = await askGit(['rev-parse', `${head}^{tree}`], normalCall(ws), WHAT);
  return { head, tree: tree === before ? null : tree };
}

async function committed(ws: Workspace, head: string, tree: string | null): Promise<string> {
  if (tree === null) return head;
  const isNamed = (await git(['var', 'GIT_COMMITTER_IDENT'], normalCall(ws))).ok;
  const input = `${PUBLISH_TEXTS.rest(ws.loopId)}\n`;
  const call = { ...normalCall(ws), input, ...(!isNamed && { more: IDENTITY }) };
  return askGit(['commit-tree', tree, '-p', head], call, WHAT);
}

/** Returns whether the branch is at a commit of this tree on top of this commit. */
async function isCommitOf(ws: Workspace, { branch, expected }: Publication, head: string, tree: string) {
  return (await commitsOf(ws, branch, ['--max-count=1', '--format=%T %P', `${expected}`])) === `${tree} ${head}`;
}

/** Returns what `git log` says of commits of a branch, which it fetches if they are not here; null if it cannot. */
async function commitsOf(ws: Workspace, branch: string, words: readonly string[]): Promise<string | null> {
  const call = normalCall(ws);
  const log = ['log', '--no-show-signature', ...words];
  let found = await git(log, call);
  if (!found.ok) {
    const fetch = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', 'origin', `refs/heads/${nameOf(branch)}`];
    await git(fetch, { ...call, network: true });
    found = await git(log, call);
  }
  return found.ok ? found.output.toString('utf8').trim() : null;
}

/**
 * Returns the first branch of `ralph/ID`, `ralph/ID-2` and so on that holds only commits of the loop, with its commit in the
 * repository: commits that a person added to an earlier result may exist nowhere else. Throws RalphError `state-io`.
 */
export async function ownBranch(ws: Workspace, checkpoint: string | null) {
  for (let copy = 1; ; copy += 1) {
    const branch = copy === 1 ? ws.branch : `${ws.branch}-${copy}`;
    const expected = await readRef(ws.mirror, `refs/heads/${branch}`, ws.env);
    if (expected === null) return { branch, expected };
    const words = ['--format=%s %at %ct', expected, ...(checkpoint === null ? [] : ['--not', checkpoint])];
    const added = await commitsOf(ws, branch, words);
    if (added === null) throw new RalphError('state-io', GIT_TEXTS.noCommit(expected));
    // Of the commits of an earlier result, only its last one is in no checkpoint. An amended one has two times.
    const [, subject, made, amended] = /^(.*) (\d+) (\d+)$/.exec(added) ?? [];
    if (added === '' || (subject === PUBLISH_TEXTS.rest(ws.loopId) && made === amended)) return { branch, expected };
  }
}

function isWork(path: string): boolean {
  return !/^\.(?:claude|ralph)\//.test(path) && !/(?:^|\/)\.ralph-runner[^/]*\//.test(path);
}

const GH_MS = 120_000;
const GH_BYTES = 1024 * 1024;
const PULL_REQUEST = /https?:\/\/\S+\/pull\/\d+/;

async function openPullRequest(
  ws: Workspace,
  { branch, base, report }: Publication,
): Promise<Pick<PublishOutcome, 'pullRequest' | 'message'>> {
  const gh = onPath('gh', ws.env);
  if (gh === null) return { pullRequest: null, message: PUBLISH_TEXTS.noGh(branch) };
  const url = await askGit(['config', '--get', 'remote.origin.url'], { env: ws.env, gitDir: ownGit(ws) }, WHAT);
  const where = ['--repo', url, '--head', nameOf(branch), '--base', nameOf(base)];
  const words = ['pr', 'create', ...where, '--title', PUBLISH_TEXTS.title(branch), '--body-file', '-'];
  const own = Object.entries(ws.env).filter(([key]) => !key.startsWith('RALPH_'));
  // gh itself starts git, so it works in the worker's own git folder, not in the agent's.
  const place = { GH_PROMPT_DISABLED: '1', GIT_DIR: ownGit(ws), GIT_TERMINAL_PROMPT: '0' };
  const env = { ...Object.fromEntries(own), ...place };
  const limits = { timeMs: GH_MS, mostOutput: GH_BYTES };
  const { code, output, complaint } = await runToEnd(gh, words, { cwd: ownGit(ws), env, input: report, ...limits });
  const said = output.toString('utf8').trim();
  const address = PULL_REQUEST.exec(code === 0 ? said : complaint)?.[0] ?? null;
  if (address !== null) {
    const text = code === 0 ? PUBLISH_TEXTS.opened : PUBLISH_TEXTS.exists;
    return { pullRequest: address, message: text(branch, address) };
  }
  return { pullRequest: null, message: PUBLISH_TEXTS.pullFailed(branch, redact(complaint || said)) };
}
