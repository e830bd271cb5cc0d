import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { emptyFolder } from '../support/folder.ts';
import { commitFolder } from '../support/git.ts';

/** RALPH_WORKTREE_KILLS=200 is the long form. */
const KILLS = Number(process.env['RALPH_WORKTREE_KILLS'] ?? 3);
const FILES = 1000;

const main = fileURLToPath(new URL('../../dist/plugin/scripts/main.cjs', import.meta.url));
const base = emptyFolder({ after });
const project = join(base, 'project');
const tree = join(project, '.ralph/worktrees/fix');
const env = { PATH: process.env['PATH'], HOME: base, XDG_STATE_HOME: join(base, 'state') };
const RUN = [
  ...['run', 'jobs/fix', '--worktree', '--worktree-setup', 'sleep 0.1; echo up >> setup.txt'],
  ...['--agent', 'cat > /dev/null; echo "<promise>DONE</promise>"'],
];

const git = (directory: string, ...words: string[]): string =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=b', ...words], { cwd: directory, env, encoding: 'utf8' });

before(() => {
  mkdirSync(join(project, 'jobs/fix'), { recursive: true });
  mkdirSync(join(project, 'big'));
  for (let at = 0; at < FILES; at++) writeFileSync(join(project, 'big', `${at}.txt`), `file ${at}\n`.repeat(50));
  const keys = 'max_iterations: 3\ncompletion_promise: DONE\ncompletion_gate: disabled';
  writeFileSync(join(project, 'jobs/fix/RALPH.md'), `---\n${keys}\n---\nFix it.\n`);
  commitFolder(project);
});

function ralph(args: readonly string[]): { code: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    cwd: project,
    env,
    encoding: 'utf8',
  });
  return { code: status, said: stdout + stderr };
}

async function killed(child: ChildProcess, when: () => boolean, more: number): Promise<void> {
  const over = new Promise((resolve) => child.once('exit', resolve));
  while (!when() && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 2));
  await new Promise((resolve) => setTimeout(resolve, more));
  child.kill('SIGKILL');
  await over;
}

/** Whether every file of the commit is there, whole. */
function isWhole(): boolean {
  return readdirSync(join(tree, 'big')).length === FILES && git(tree, 'status', '--porcelain', '--', 'big') === '';
}

test('a worktree whose creation was killed is complete when requested again, and nothing is left behind', async () => {
  for (let kill = 0; kill < KILLS; kill++) {
    const child = spawn(process.execPath, [main, ...RUN], { cwd: project, env, stdio: 'ignore' });
    await killed(child, () => existsSync(tree), Math.random() * 300);
    const { code, said } = ralph([...RUN, '--fresh']);
    assert.equal(code, 0, said);
    assert.ok(isWhole());
    assert.match(readFileSync(join(tree, 'setup.txt'), 'utf8'), /^(up\n)+$/);
    rmSync(join(tree, 'setup.txt'));
    const removed = ralph(['worktree', 'remove', 'fix']);
    assert.equal(removed.code, 0, removed.said);
    assert.equal(git(project, 'branch', '--list', 'ralph/*'), '');
    assert.equal(git(project, 'worktree', 'list').trim().split('\n').length, 1);
  }
});

test('control: without the record of its progress, a partial worktree counts as complete', () => {
  git(project, 'worktree', 'add', '-q', '--no-checkout', '-b', 'ralph/fix', tree, 'HEAD');
  git(tree, 'checkout', 'HEAD', '--', 'jobs', 'big/1.txt');
  const { code, said } = ralph([...RUN, '--fresh']);
  assert.equal(code, 0, said);
  assert.equal(isWhole(), false);
});
