import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { Delivery } from '../../../engine/schema/batch.ts';
import { removeIfThere } from '../../../state/files/regular-file.ts';
import { onPath } from '../../../state/process/find-program.ts';
import { ifRefused, RalphError } from '../../../text/message.ts';
import { branchOf, changedFiles, checkedOut, type GitRun, userGit } from '../../worktree/repository.ts';
import { gh, ghJson } from '../issues.ts';
import { INTEGRATE_TEXTS } from '../messages.ts';
import { provedText, quotedForOthers } from '../proved-text.ts';

export interface Integrated {
  readonly message: string;
  readonly outcome: 'done' | 'failed';
}

/**
 * Removes the files that a killed move wrote before it moved the branch: exactly those equal to the commit. Every other file is
 * the user's.
 */
export function takeBackMove(projectDir: string, { from, commit }: Delivery, env: NodeJS.ProcessEnv): void {
  if (checkedOut(projectDir, env).commit !== from) return;
  const git = (...words: string[]): GitRun => userGit(projectDir, words, env);
  const listed = git('diff', '--name-only', '--no-renames', '--relative', '-z', from, commit);
  const moved = new Set(listed.text.split('\0'));
  const { changed, removed } = changedFiles(projectDir, env);
  for (const path of [...changed, ...removed].filter((each) => moved.has(each))) {
    const file = join(projectDir, path);
    const held = git('rev-parse', '--verify', '--quiet', `${commit}:./${path}`);
    const isWritten = existsSync(file) && held.ok && git('hash-object', '--', path).text === held.text;
    const isRemoved = !existsSync(file) && !held.ok;
    if (!isWritten && !isRemoved) continue;
    if (git('cat-file', '-e', `${from}:./${path}`).ok) {
      git('restore', `--source=${from}`, '--staged', '--worktree', '--', `:(literal)${path}`);
    } else {
      git('rm', '--quiet', '--cached', '--ignore-unmatch', '--', `:(literal)${path}`);
      removeIfThere(file);
    }
  }
}

interface PullRequest {
  readonly name: string;
  readonly projectDir: string;
  /** Body of the pull request. */
  readonly report: string;
  /** URL of the issue that it closes. */
  readonly issue?: string | null;
  readonly env: NodeJS.ProcessEnv;
}

/** Pushes a commit as the loop's branch and opens a pull request with `gh`. */
export function openPullRequest(
  { name, projectDir, report, issue = null, env }: PullRequest,
  branch: string,
  tip: string,
): Integrated {
  const remote = remoteOf(projectDir, env);
  if (remote === null) return { message: INTEGRATE_TEXTS.noRemote, outcome: 'failed' };
  const pushed = userGit(projectDir, ['push', '--quiet', remote, `${tip}:refs/heads/${branch}`], env);
  if (!pushed.ok) return { message: INTEGRATE_TEXTS.failed(name, pushed.complaint), outcome: 'failed' };
  if (onPath('gh', env) === null) return { message: INTEGRATE_TEXTS.pushed(name, branch, remote), outcome: 'done' };
  const from = { projectDir, env };
  try {
    // If a run is killed after opening it, it opens no second one.
    const there = pulls.safeParse(ghJson(from, ['pr', 'list', '--head', branch, '--state', 'all', '--json', FIELDS]));
    if (!there.success) throw new RalphError('refused', INTEGRATE_TEXTS.otherAnswer);
    // gh also lists requests from forks with a branch of the same name.
    const own = there.data.find(
      ({ state, headRefOid, isCrossRepository }) => headRefOid === tip || (state === 'OPEN' && !isCrossRepository),
    );
    if (own !== undefined) return { message: INTEGRATE_TEXTS.opened(name, own.url), outcome: 'done' };
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    return { message: INTEGRATE_TEXTS.notListed(name, branch, error.message), outcome: 'failed' };
  }
  const closes = issue === null ? '' : `Closes ${issue}`;
  const body = [quotedForOthers(from, report), provedText(projectDir, name, env), closes].filter((part) => part !== '');
  const words = ['pr', 'create', '--head', branch, '--title', `ralph-loop: ${name}`, '--body-file', '-'];
  return ifRefused<Integrated, Integrated>(
    () => ({ message: INTEGRATE_TEXTS.opened(name, gh(from, words, body.join('\n\n')).trim()), outcome: 'done' }),
    ({ message }) => ({ message: INTEGRATE_TEXTS.pullFailed(name, branch, message), outcome: 'failed' }),
  );
}

const FIELDS = 'url,state,headRefOid,isCrossRepository';
const pulls = z.array(
  z.object({ url: z.string(), state: z.string(), headRefOid: z.string(), isCrossRepository: z.boolean() }),
);

/** Returns the remote of the current branch, else `origin`, else the only one; null if there is none. */
function remoteOf(projectDir: string, env: NodeJS.ProcessEnv): string | null {
  const git = (...words: string[]): string => userGit(projectDir, words, env).text.trim();
  const branch = branchOf(projectDir, env);
  const own = branch === null ? null : git('config', '--get', `branch.${branch}.remote`);
  const all = git('remote')
    .split('\n')
    .filter((line) => line !== '');
  return [own ?? '', 'origin', ...(all.length === 1 ? all : [])].find((name) => all.includes(name)) ?? null;
}
