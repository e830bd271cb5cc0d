import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ENV } from './environment.ts';

/** Environment of git without the user's own configuration. */
export const GIT_ENV: NodeJS.ProcessEnv = { ...ENV, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };

export type Git = (...words: string[]) => string;

let template: string | null = null;

/** Makes a folder an empty repository on this branch, whose own configuration names an author for commits. */
export function initRepository(directory: string, branch = 'main'): Git {
  if (template === null) {
    const made = mkdtempSync(join(tmpdir(), 'ralph-git-'));
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    execFileSync('git', ['init', '--quiet', made], { env: GIT_ENV });
    appendFileSync(
      join(made, '.git', 'config'),
      '[user]\n\tname = Test\n\temail = test@example.invalid\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[core]\n\tfsync = none\n',
    );
    // Examples, of which each repository would get fourteen files.
    const hooks = join(made, '.git', 'hooks');
    for (const name of readdirSync(hooks)) rmSync(join(hooks, name));
    template = made;
  }
  cpSync(join(template, '.git'), join(directory, '.git'), { recursive: true });
  writeFileSync(join(directory, '.git', 'HEAD'), `ref: refs/heads/${branch}\n`);
  return (...words) => execFileSync('git', words, { cwd: directory, env: GIT_ENV, encoding: 'utf8', stdio: 'pipe' });
}

/** Makes a folder a repository on this branch, with all of its files committed. */
export function commitFolder(directory: string, branch = 'main', message = 'first'): Git {
  const git = initRepository(directory, branch);
  git('add', '--all');
  git('commit', '--quiet', '--no-verify', '--allow-empty', '--message', message);
  return git;
}
