import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { namesIn, uniqueToken } from '../../state/files/regular-file.ts';
import { awaitHold } from '../../state/lock/hold.ts';
import { readOwner } from '../../state/lock/owner.ts';
import { RalphError } from '../../text/message.ts';
import { GIT_TEXTS } from '../messages.ts';
import { askGit, type GitCall, type GitEnd, git } from './git.ts';
import type { FleetPlace, FleetRepository, Workspace } from './place.ts';
import { checkRef, environmentOf, mirrorPath, ownCall, plainUrl } from './place.ts';

/** Maximum wait: the first fetch of a large repository takes minutes, and others wait for it. */
const WAIT_MS = 1_800_000;
const WHAT = 'the mirror was made';
const BRANCHES_AND_TAGS = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'];

/**
 * Fetches the repository and `refs` into the machine's bare mirror of it; returns the mirror's path. Runs are serialised; the
 * remains of a killed run are removed. Objects are never removed, because workspaces borrow them. Throws RalphError
 * `state-io` if the repository does not answer.
 */
export async function fetchMirror(
  place: FleetPlace,
  repository: FleetRepository,
  refs: readonly string[] = [],
): Promise<string> {
  const mirror = mirrorPath(place, repository.id);
  const [url, env] = [plainUrl(repository.url), environmentOf(place)];
  const wanted = refs.map((ref) => `+${checkRef(ref)}:${ref}`);
  mkdirSync(dirname(mirror), { recursive: true, mode: 0o700 });
  const path = `${mirror}.holder`;
  const hold = await awaitHold(path, WAIT_MS);
  if (hold === null) {
    const owner = readOwner(path);
    throw new RalphError('lock-timeout', GIT_TEXTS.held(path, typeof owner === 'object' ? owner.pid : 0));
  }
  try {
    dropDrafts(mirror);
    if (!existsSync(mirror)) await makeMirror(mirror, url, env);
    const call = { env, gitDir: mirror, network: true };
    const known = await git(['config', '--get', 'remote.origin.url'], { env, gitDir: mirror });
    if (known.output.toString('utf8').trimEnd() !== url) {
      const set = await unlocking(mirror, () => git(['config', 'remote.origin.url', url], { env, gitDir: mirror }));
      if (!set.ok) throw new RalphError('state-io', GIT_TEXTS.failed(WHAT, set.complaint));
    }
    const words = ['fetch', '--quiet', '--prune', '--no-tags', '--no-write-fetch-head', 'origin'];
    const fetched = await unlocking(mirror, () => git([...words, ...BRANCHES_AND_TAGS, ...wanted], call));
    if (!fetched.ok) throw new RalphError('state-io', GIT_TEXTS.unreachable(fetched.complaint));
    return mirror;
  } finally {
    hold.release();
  }
}

/** Creates the empty mirror under another name of the same length, so that a mirror is never incomplete. */
async function makeMirror(mirror: string, url: string, env: NodeJS.ProcessEnv): Promise<void> {
  const draft = `${mirror}.${uniqueToken()}.new`;
  mkdirSync(draft, { mode: 0o700 });
  try {
    const asked = await git(['ls-remote', '--', url], { env, cwd: draft, network: true });
    if (!asked.ok) throw new RalphError('state-io', GIT_TEXTS.unreachable(asked.complaint));
    const format = /^[0-9a-f]{64}\t/.test(asked.output.toString('latin1', 0, 65)) ? 'sha256' : 'sha1';
    const words = ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, draft];
    await askGit(words, { env, cwd: draft }, WHAT);
    await askGit(['config', 'remote.origin.url', url], { env, gitDir: draft }, WHAT);
    renameSync(draft, mirror);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function dropDrafts(mirror: string): void {
  const folder = dirname(mirror);
  for (const name of namesIn(folder)) {
    if (!name.startsWith(`${basename(mirror)}.`) || !name.endsWith('.new')) continue;
    rmSync(join(folder, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

/** Maximum number of attempts; each removes one lock file of a killed process. */
const MOST_LOCKS = 50;
/** Wait that exceeds the time for which git locks a reference: git may outlive a killed worker for a moment. */
const ORPHAN_MS = 2_000;

/** Runs git again without the lock file that it found, as long as killed processes have left any. */
async function unlocking(mirror: string, run: () => Promise<GitEnd>): Promise<GitEnd> {
  for (let left = MOST_LOCKS; ; left -= 1) {
    const end = await run();
    const lock = /Unable to create '(.+\.lock)': File exists/.exec(end.complaint)?.[1];
    const path = lock === undefined ? null : resolve(mirror, lock);
    if (end.ok || path === null || left === 0 || !path.startsWith(mirror + sep)) return end;
    await sleep(ORPHAN_MS);
    rmSync(path, { force: true });
  }
}

/** Reads a remote reference; null if it does not exist. Throws RalphError `state-io` if the repository does not answer. */
export async function readRef(
  mirror: string,
  ref: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string | null> {
  const call: GitCall = { env, gitDir: mirror, network: true };
  const { ok, output, complaint } = await git(['ls-remote', '--refs', 'origin', checkRef(ref)], call);
  if (!ok) throw new RalphError('state-io', GIT_TEXTS.unreachable(complaint));
  const lines = output
    .toString('utf8')
    .split('\n')
    .map((line) => line.split('\t'));
  return lines.find(([, name]) => name === ref)?.[0] ?? null;
}

export async function hasCommit(gitDir: string, sha: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  return (await git(['cat-file', '-e', `${sha}^{commit}`], { env, gitDir })).ok;
}

/** `fenced`: another worker moved the reference. `unreachable`: it is unchanged, or the repository does not answer. */
export type PushOutcome = 'pushed' | 'fenced' | 'unreachable';

/** Moves a reference in the repository from `expected` (null: none) to the commit, in one step or not at all. */
export async function pushRef(
  ws: Workspace,
  ref: string,
  sha: string,
  expected: string | null,
  tell: (complaint: string) => void,
): Promise<PushOutcome> {
  const words = ['push', '--quiet', '--no-verify', `--force-with-lease=${checkRef(ref)}:${expected ?? ''}`, 'origin'];
  const { ok, complaint } = await git([...words, `${sha}:${ref}`], { ...ownCall(ws), network: true });
  const outcome = ok ? 'pushed' : await outcomeOf(ws, ref, sha, expected);
  if (outcome !== 'pushed') tell(complaint);
  return outcome;
}

/** Asks the repository for the result of a push that failed here, because its answer may have been lost. */
async function outcomeOf(ws: Workspace, ref: string, sha: string, expected: string | null): Promise<PushOutcome> {
  let found: string | null;
  try {
    found = await readRef(ws.mirror, ref, ws.env);
  } catch {
    return 'unreachable';
  }
  if (found === sha) return 'pushed';
  return found === expected ? 'unreachable' : 'fenced';
}
