import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const MAIN = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'scripts', 'main.cjs');
const PLAN = `# Plan

- [ ] **Task 1: First**
  - Scope: \`work\`
  - Acceptance: it is there
- [ ] **Task 2: Second**
  - Scope: \`work\`
  - Depends on: Task 1
  - Acceptance: it is there
- [ ] **Task 3: Third**
  - Scope: \`work\`
  - Depends on: Task 2
  - Acceptance: it is there
`;
/** Works on the task that the hand-off names. */
const AGENT = `#!/bin/sh
task=$(sed -n 's/^Current task: Task \\([0-9]*\\),.*/\\1/p' | head -1)
mkdir -p work && echo done > work/$task.txt
echo "Summary: made $task."
`;

interface Place {
  readonly dir: string;
  readonly state: string;
  readonly git: (...args: string[]) => string;
  /** Runs the plan; `killing` says at which call of git the runner is killed. */
  readonly run: (killing: string | null, ...more: string[]) => number | null;
}

/**
 * A repository with a plan, and a git on the PATH that kills the runner just before (`before NAME`) or after
 * (`after NAME`) its own work, the first time that it is called so for the second task.
 */
function place(context: TestContext): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-plan-')));
  context.after(() => rmSync(root, { recursive: true, force: true }));
  const [dir, home, bin, state] = ['project', 'home', 'bin', 'state'].map((name) => join(root, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const made of [dir, home, bin]) mkdirSync(made);
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
  const base = { PATH: process.env['PATH'], HOME: home, XDG_STATE_HOME: state, XDG_CONFIG_HOME: join(root, 'config') };
  const git = (...args: string[]): string => execFileSync(real, args, { cwd: dir, env: base, encoding: 'utf8' });
  git('init', '-q', '-b', 'work');
  git('config', 'user.name', 'Test');
  git('config', 'user.email', 'test@example.invalid');
  writeFileSync(join(dir, 'PLAN.md'), PLAN);
  writeFileSync(join(dir, 'agent.sh'), AGENT, { mode: 0o755 });
  git('add', '-A');
  git('commit', '-q', '-m', 'Begin');
  return {
    dir,
    state,
    git,
    run: (killing, ...more) => {
      const [when, at] = (killing ?? '').split(' ');
      const own =
        killing === null ? base : { ...base, PATH: `${bin}${delimiter}${base.PATH}`, KILL_WHEN: when, KILL_AT: at };
      const args = [MAIN, 'run', 'PLAN.md', '--plan', '--agent', './agent.sh', ...more];
      return spawnSync(process.execPath, args, { cwd: dir, env: own, encoding: 'utf8' }).status;
    },
  };
}

function assertOnceEach({ dir, git }: Place): void {
  const subjects = git('log', '--reverse', '--format=%s').trim().split('\n');
  assert.deepEqual(subjects, ['Begin', 'feat: Task 1 - First', 'feat: Task 2 - Second', 'feat: Task 3 - Third']);
  const progress = readFileSync(join(dir, 'PLAN.progress.md'), 'utf8');
  for (const id of [1, 2, 3]) assert.equal(progress.split(`## Task ${id}: `).length, 2, `one entry of Task ${id}`);
  assert.equal(git('status', '--porcelain').replace(/^\?\? \.claude\/\n/m, ''), '');
}

const MOMENTS = ['before status', 'before add', 'after add', 'before commit', 'after commit', 'before rev-parse'];

for (const moment of MOMENTS) {
  test(`a runner killed ${moment} of a task leaves no second commit and no second entry`, (t) => {
    const p = place(t);
    assert.equal(p.run(moment), null, 'it was killed');
    assert.equal(p.run(null, '--resume'), 0);
    assertOnceEach(p);
  });
}

test('control: without the note of what was begun, the entry of a killed task stands there twice', (t) => {
  const p = place(t);
  assert.equal(p.run('before commit'), null);
  const outside = join(p.state, 'ralph-loop');
  const notes = readdirSync(outside)
    .map((name) => join(outside, name, 'settling.json'))
    .filter((path) => existsSync(path));
  assert.equal(notes.length, 1);
  for (const path of notes) rmSync(path);
  p.run(null, '--resume');
  assert.throws(() => assertOnceEach(p));
});
