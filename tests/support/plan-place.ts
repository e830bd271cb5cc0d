import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { shareCodeCache } from './code-cache.ts';
import { COMMAND_PATH } from './command-path.ts';
import { emptyFolder } from './folder.ts';
import { commitFolder } from './git.ts';

const MAIN = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'plugin', 'scripts', 'main.cjs');

/** Works on the task that the hand-off names. */
export const AGENT = `#!/bin/sh
task=$(sed -n 's/^Current task: Task \\([0-9]*\\),.*/\\1/p' | head -1)
mkdir -p work && echo done > work/$task.txt
echo "Summary: made $task."
`;

/** A task that AGENT does; `more` are further lines of it. */
export const task = (id: number, more = ''): string =>
  `- [ ] **Task ${id}: Make ${id}**\n  - Scope: \`work\`\n  - Acceptance: it is there\n${more}`;
export const TWO = task(1) + task(2);

export interface Ran {
  /** null where it was killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface PlanPlace {
  readonly dir: string;
  readonly state: string;
  readonly env: Readonly<Record<string, string>>;
  readonly git: (...args: string[]) => string;
  /** Runs the plan; `killing` says at which call of git the runner is killed. */
  readonly run: (killing: string | null, ...more: string[]) => Ran;
}

/**
 * A repository with a plan, and a git on the PATH that kills the runner just before (`before NAME`) or after
 * (`after NAME`) its own work, the first time that it is called so for the second task.
 */
export function planPlace(context: TestContext, plan: string, agent = AGENT): PlanPlace {
  const root = emptyFolder(context);
  const [dir, home, bin, state] = ['project', 'home', 'bin', 'state'].map((name) => join(root, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const made of [dir, home, bin]) mkdirSync(made);
  shareCodeCache(state);
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const fake = `#!/bin/sh
case " $* " in *" $KILL_AT "*) ;; *) exec '${real}' "$@";; esac
if [ -e '${root}/killed' ] || ! grep -q '^- .x. ..Task 2' PLAN.md; then exec '${real}' "$@"; fi
touch '${root}/killed'
if [ "$KILL_WHEN" = after ]; then '${real}' "$@"; fi
kill -9 $PPID
`;
  writeFileSync(join(bin, 'git'), fake);
  chmodSync(join(bin, 'git'), 0o755);
  const base = { PATH: COMMAND_PATH, HOME: home, XDG_STATE_HOME: state, XDG_CONFIG_HOME: join(root, 'config') };
  const git = (...args: string[]): string => execFileSync(real, args, { cwd: dir, env: base, encoding: 'utf8' });
  writeFileSync(join(dir, 'PLAN.md'), plan);
  writeFileSync(join(dir, 'agent.sh'), agent, { mode: 0o755 });
  commitFolder(dir, 'work', 'Begin');
  return {
    dir,
    state,
    env: base,
    git,
    run: (killing, ...more) => {
      const [when, at] = (killing ?? '').split(' ');
      const own =
        killing === null ? base : { ...base, PATH: `${bin}${delimiter}${base.PATH}`, KILL_WHEN: when, KILL_AT: at };
      const args = [MAIN, 'run', 'PLAN.md', '--plan', '--agent', './agent.sh', ...more];
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: dir, env: own, encoding: 'utf8' });
      return { code: status, stdout, stderr };
    },
  };
}

/** Of the commits since the place was made, oldest first. */
export const subjects = ({ git }: PlanPlace): string[] =>
  git('log', '--reverse', '--format=%s').trim().split('\n').slice(1);

export const read = ({ dir }: PlanPlace, path: string): string => readFileSync(join(dir, path), 'utf8');
