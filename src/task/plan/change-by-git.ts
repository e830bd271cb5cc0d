import { spawn } from 'node:child_process';
import { gateEnvironment } from '../gate-environment.ts';
import { onPath } from '../on-path.ts';

export interface GitChange {
  readonly directory: string;
  readonly words: readonly string[];
  /** What git reads from its standard input. */
  readonly input?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type GitChanged = { readonly ok: true } | { readonly ok: false; readonly said: string };

/** The hooks of a commit may run a whole test suite. */
const TIME_MS = 600_000;
const MOST_SAID = 8_000;

/**
 * Has git change the repository, as the user would: with the user's configuration, signatures and hooks, and without a
 * shell. Asks nobody for anything. Not ended by a signal to the caller, because half of a commit is worse than a late
 * answer. Never rejects: what git said is told.
 */
export function changeByGit({ directory, words, input = '', env }: GitChange): Promise<GitChanged> {
  const program = onPath(process.platform === 'win32' ? 'git.exe' : 'git', env);
  if (program === null) return Promise.resolve({ ok: false, said: 'git was not found on the PATH.' });
  return new Promise((resolve) => {
    const child = spawn(program, words, {
      cwd: directory,
      env: { ...withoutPlace(gateEnvironment(env)), GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: 'true' } as NodeJS.ProcessEnv,
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
      // The keys of a terminal are for us: git ends its work.
      detached: process.platform !== 'win32',
    });
    let said = '';
    const hear = (chunk: Buffer): void => {
      said = `${said}${chunk.toString('utf8')}`.slice(-MOST_SAID);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    // A git that ends before it has read everything says by its exit what is wrong.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    const late = setTimeout(() => child.kill('SIGKILL'), TIME_MS);
    const finish = (end: GitChanged): void => {
      clearTimeout(late);
      resolve(end);
    };
    child.once('error', (error) => finish({ ok: false, said: error.message }));
    child.once('close', (code, signal) => {
      const how = signal === null ? `exit code ${code}` : `ended by ${signal}`;
      finish(code === 0 ? { ok: true } : { ok: false, said: `git ${words[0] ?? ''}: ${how}.\n${said.trim()}` });
    });
  });
}

/** Variables that say which repository is meant would lead away from the project. */
function withoutPlace(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const places = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_OBJECT_DIRECTORY', 'GIT_NAMESPACE', 'GIT_PREFIX'];
  return Object.fromEntries(Object.entries(env).filter(([key]) => !places.includes(key)));
}
