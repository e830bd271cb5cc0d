import * as z from 'zod';
import { onPath } from '../../../state/process/find-program.ts';
import { RalphError } from '../../../text/message.ts';
import { userGit } from '../../worktree/repository.ts';
import { gh, ghJson } from '../issues/gh.ts';
import { provedText, quotedForOthers } from '../issues/proved-text.ts';
import { INTEGRATE_TEXTS } from '../messages.ts';
import type { Integrated } from './deliver.ts';

interface PullRequest {
  /** Name of the loop. */
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
  if (remote === null) return { message: INTEGRATE_TEXTS.noRemote(name), outcome: 'blocked' };
  const pushed = userGit(projectDir, ['push', '--quiet', remote, `${tip}:refs/heads/${branch}`], env);
  if (!pushed.ok) return { message: INTEGRATE_TEXTS.failed(name, pushed.complaint), outcome: 'failed' };
  if (onPath('gh', env) === null) return { message: INTEGRATE_TEXTS.pushed(name, branch, remote), outcome: 'done' };
  const from = { projectDir, env };
  try {
    // A run that was killed after it had opened it opens no second one.
    const there = pulls.safeParse(ghJson(from, ['pr', 'list', '--head', branch, '--state', 'all', '--json', FIELDS]));
    if (!there.success) throw new RalphError('refused', INTEGRATE_TEXTS.otherAnswer);
    const own = there.data.find((pull) => isOwn(pull, tip));
    if (own !== undefined) return { message: INTEGRATE_TEXTS.opened(name, own.url), outcome: 'done' };
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    return { message: INTEGRATE_TEXTS.notListed(name, branch, error.message), outcome: 'failed' };
  }
  const closes = issue === null ? '' : `Closes ${issue}`;
  const body = [quotedForOthers(from, report), provedText(projectDir, name, env), closes].filter((part) => part !== '');
  try {
    const words = ['pr', 'create', '--head', branch, '--title', `ralph-loop: ${name}`, '--body-file', '-'];
    return { message: INTEGRATE_TEXTS.opened(name, gh(from, words, body.join('\n\n')).trim()), outcome: 'done' };
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    return { message: INTEGRATE_TEXTS.pullFailed(name, branch, error.message), outcome: 'failed' };
  }
}

const FIELDS = 'url,state,headRefOid,isCrossRepository';
const pulls = z.array(
  z.object({ url: z.string(), state: z.string(), headRefOid: z.string(), isCrossRepository: z.boolean() }),
);

/** Returns whether a pull request is of this work: gh also lists those of forks whose branch has the same name. */
function isOwn({ state, headRefOid, isCrossRepository }: z.infer<typeof pulls>[number], tip: string): boolean {
  return headRefOid === tip || (state === 'OPEN' && !isCrossRepository);
}

/** Returns the remote of the current branch, else `origin`, else the only one; null if there is none. */
function remoteOf(projectDir: string, env: NodeJS.ProcessEnv): string | null {
  const git = (...words: string[]): string => userGit(projectDir, words, env).text.trim();
  const head = git('symbolic-ref', '--quiet', '--short', 'HEAD');
  const own = head === '' ? '' : git('config', '--get', `branch.${head}.remote`);
  const all = git('remote')
    .split('\n')
    .filter((line) => line !== '');
  return [own, 'origin', ...(all.length === 1 ? all : [])].find((name) => all.includes(name)) ?? null;
}
