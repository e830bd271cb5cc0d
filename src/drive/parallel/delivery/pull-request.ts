import { spawnSync } from 'node:child_process';
import { onPath } from '../../../state/process/find-program.ts';
import { jsonOrNull } from '../../../text/json.ts';
import { userGit } from '../../worktree/repository.ts';
import { forOthers, provedText } from '../issues/proved-text.ts';
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
  const gh = onPath('gh', env);
  if (gh === null) return { message: INTEGRATE_TEXTS.pushed(name, branch, remote), outcome: 'done' };
  const listing = ['pr', 'list', '--head', branch, '--state', 'open', '--json', 'url'];
  const open = spawnSync(gh, listing, { cwd: projectDir, env, encoding: 'utf8' });
  // A run that was killed after it had opened it opens no second one.
  const there = open.status === 0 ? urlsIn(open.stdout) : null;
  if (there === null) {
    const why =
      open.error?.message ?? (open.stderr.trim() || `gh pr list answered: ${open.stdout.trim() || 'nothing'}`);
    return { message: INTEGRATE_TEXTS.notListed(name, branch, why), outcome: 'failed' };
  }
  const [first] = there;
  if (first !== undefined) return { message: INTEGRATE_TEXTS.opened(name, first), outcome: 'done' };
  const proved = provedText(projectDir, name, env);
  const body = [forOthers({ projectDir, env }, report), proved, issue === null ? '' : `Closes ${issue}`]
    .filter((part) => part !== '')
    .join('\n\n');
  const words = ['pr', 'create', '--head', branch, '--title', `ralph-loop: ${name}`, '--body', body];
  const { status, stdout, stderr, error } = spawnSync(gh, words, { cwd: projectDir, env, encoding: 'utf8' });
  if (status === 0) return { message: INTEGRATE_TEXTS.opened(name, stdout.trim()), outcome: 'done' };
  const complaint = (error?.message ?? stderr).trim();
  return { message: INTEGRATE_TEXTS.pullFailed(name, branch, complaint), outcome: 'failed' };
}

/** Returns the URLs of the pull requests that gh lists; null for an answer of another form, which may hide one. */
function urlsIn(answer: string): string[] | null {
  const listed = jsonOrNull(answer);
  if (!Array.isArray(listed)) return null;
  const urls = listed.map((one: unknown) => (typeof one === 'object' && one !== null && 'url' in one ? one.url : null));
  return urls.every((url) => typeof url === 'string') ? urls : null;
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
