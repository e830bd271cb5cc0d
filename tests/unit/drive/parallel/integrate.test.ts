import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { operate } from '../../../../src/drive/control/operate.ts';
import { driverContext } from '../../../../src/drive/control/ownership.ts';
import { stop } from '../../../../src/drive/hook/stop/stop.ts';
import { type Integration, integrate } from '../../../../src/drive/parallel/delivery/integrate.ts';
import { makeWorktree } from '../../../../src/drive/worktree/make-worktree.ts';
import { readWorktreeRecord, writeWorktreeRecord } from '../../../../src/drive/worktree/worktree-place.ts';
import type { Delivery } from '../../../../src/engine/schema/batch.ts';
import { parseHookInput } from '../../../../src/hosts/hook-io/hook-input.ts';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { put } from '../../../support/drive/drive-project.ts';
import { startNow } from '../../../support/drive/start-now.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { repository } from '../../../support/repository.ts';

const WHO = { name: 'test', email: 'test@localhost' };

/** A project with a worktree of the loop `one`, with or without a commit, whose loop is complete. */
async function worktree(t: TestContext, commits: boolean, validation = 'true') {
  const projectDir = repository(t);
  const base = emptyFolder(t);
  const author = { GIT_AUTHOR_NAME: WHO.name, GIT_AUTHOR_EMAIL: WHO.email };
  const committer = { GIT_COMMITTER_NAME: WHO.name, GIT_COMMITTER_EMAIL: WHO.email };
  const env = { PATH: process.env['PATH'], HOME: base, XDG_STATE_HOME: join(base, 'state'), ...author, ...committer };
  const { place } = makeWorktree({ projectDir, name: 'one', taskPath: null, existing: 'refuse', env });
  const git = (...words: readonly string[]): string =>
    execFileSync('git', words, { cwd: projectDir, env, encoding: 'utf8', stdio: 'pipe' }).trim();
  if (commits) {
    writeFileSync(join(place.dir, 'made.txt'), 'made\n');
    git('-C', place.dir, 'add', 'made.txt');
    git('-C', place.dir, 'commit', '-q', '-m', 'Make it');
  }
  const loopId = await completeLoop(place.projectDir, validation, env);
  const told: string[] = [];
  const again = (more: Partial<Integration> & { readonly path?: string } = {}) =>
    integrate({
      projectDir,
      name: 'one',
      how: 'merge',
      report: '',
      before: [],
      delivery: null,
      record: () => undefined,
      signal: new AbortController().signal,
      tell: (message) => told.push(message),
      ...more,
      env: { ...env, PATH: more.path ?? env.PATH },
    });
  /** What a process has recorded that delivers the branch as it is, by a fast-forward. */
  const delivery = (): Delivery => {
    const [from, tip] = [git('rev-parse', 'main'), git('rev-parse', 'ralph/one')];
    return { loopId, setUp: null, copies: [], how: 'merge', tip, from, commit: tip };
  };
  return { projectDir, base, env, place, git, again, delivery, told };
}

/** Starts a loop with this check in a worktree, and returns its state. */
function startLoop(projectDir: string, validation: string, env: NodeJS.ProcessEnv) {
  put(join(projectDir, '.claude/ralph/PROMPT.md'), `---\nvalidation: ['${validation}']\n---\nDo it.\n`);
  return startNow({
    projectDir,
    name: 'one',
    task: null,
    flags: {},
    env,
    at: new Date().toISOString(),
    existing: 'refuse',
    consented: true,
    headless: false,
    launched: false,
    clientVersion: null,
    bundleDir: null,
    baseline: null,
  }).state;
}

/** Runs a loop with this check to its end, and returns its id. */
async function completeLoop(projectDir: string, validation: string, given: NodeJS.ProcessEnv): Promise<string> {
  const env = { ...given, CLAUDE_PROJECT_DIR: projectDir, RALPH_LOOP: 'one' };
  const state = startLoop(projectDir, validation, env);
  const message = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
  const payload = { hook_event_name: 'Stop', session_id: 'session-1', last_assistant_message: message };
  const input = parseHookInput(JSON.stringify(payload));
  assert.ok(input !== null);
  await stop(driverContext(input, env), { timeoutMs: 60_000, signal: () => new AbortController().signal });
  rmSync(join(projectDir, '.claude/ralph'), { recursive: true });
  return state.loopId;
}

/** What a process has done that was killed after the user's branch had moved, before it noted that. */
const KILLED: readonly (readonly [string, readonly (readonly string[])[]])[] = [
  ['after the merge', []],
  ['after the worktree was removed', [['worktree', 'remove', '--force', '.ralph/worktrees/one']]],
  [
    'after the branch was removed',
    [
      ['worktree', 'remove', '--force', '.ralph/worktrees/one'],
      ['branch', '-D', 'ralph/one'],
    ],
  ],
];

for (const [when, steps] of KILLED) {
  test(`an integration that was killed ${when} is finished by the next one`, async (t) => {
    const { place, git, again, delivery } = await worktree(t, true);
    const recorded = delivery();
    git('merge', '-q', '--no-edit', 'ralph/one');
    for (const words of steps) git(...words);
    const head = git('rev-parse', 'HEAD');
    assert.deepEqual(await again({ delivery: recorded }), {
      message: 'one: merged ralph/one into main.',
      outcome: 'done',
    });
    assert.equal(existsSync(place.dir), false);
    assert.equal(git('branch', '--list', 'ralph/*'), '');
    assert.equal(git('rev-parse', 'HEAD'), head);
  });
}

test('control: without the record of a delivery, work that is gone counts as not integrated', async (t) => {
  const { git, again } = await worktree(t, true);
  git('worktree', 'remove', '--force', '.ralph/worktrees/one');
  git('branch', '-D', 'ralph/one');
  const { message, outcome } = await again();
  assert.equal(outcome, 'failed');
  assert.match(message, /one: nothing was integrated, because its worktree is not in .*worktrees\/one\./);
});

test('work on a commit that the user took back is not integrated, which would bring it back', async (t) => {
  const { git, again, told } = await worktree(t, true);
  const base = git('rev-parse', 'main');
  git('commit', '-q', '--amend', '-m', 'Anew');
  const { message, outcome } = await again();
  assert.equal(outcome, 'failed', told.join());
  assert.match(message, new RegExp(`no longer has commit ${base.slice(0, 12)}, which ralph/one would bring back\\.`));
});

test('files that a killed move has written are taken back, and those of the user are not', async (t) => {
  const { projectDir, git, again, delivery } = await worktree(t, true);
  const recorded = delivery();
  writeFileSync(join(projectDir, 'made.txt'), 'made\n');
  git('add', 'made.txt');
  assert.equal((await again()).outcome, 'failed', 'control: without the record it is a change of the user');
  writeFileSync(join(projectDir, 'mine.txt'), 'mine\n');
  const blocked = await again({ delivery: recorded });
  assert.match(blocked.message, /the project has 1 uncommitted change\./);
  assert.deepEqual([existsSync(join(projectDir, 'made.txt')), existsSync(join(projectDir, 'mine.txt'))], [false, true]);
  rmSync(join(projectDir, 'mine.txt'));
  writeFileSync(join(projectDir, 'made.txt'), 'mine\n');
  assert.equal((await again({ delivery: recorded })).outcome, 'failed', 'another text under that name is the user’s');
  rmSync(join(projectDir, 'made.txt'));
  assert.equal((await again({ delivery: recorded })).outcome, 'done');
  assert.equal(readFileSync(join(projectDir, 'made.txt'), 'utf8'), 'made\n');
});

test('work that the project has committed as well is part of the branch that is checked', async (t) => {
  const { projectDir, place, git, again } = await worktree(t, false);
  for (const dir of [projectDir, place.dir]) writeFileSync(join(dir, 'same.txt'), 'same\n');
  git('add', 'same.txt');
  git('commit', '-q', '-m', 'Another loop made it too');
  writeFileSync(join(place.dir, 'own.txt'), 'own\n');
  const { outcome, message } = await again();
  assert.equal(outcome, 'done', message);
  // Its checks run on a clean checkout of this commit.
  assert.deepEqual(git('show', '--name-only', '--format=', 'main^2').split('\n'), ['own.txt', 'same.txt']);
});

test('a branch without commits is left with its worktree', async (t) => {
  const { place, git, again } = await worktree(t, false);
  assert.deepEqual(await again(), { message: 'one: there are no changes to integrate.', outcome: 'done' });
  assert.equal(existsSync(place.dir), true);
  assert.equal(git('branch', '--list', 'ralph/*'), '+ ralph/one');
});

/** The moment at which `git worktree remove` has deleted a part of the files. */
async function halfRemoved(t: TestContext, step: 'ready' | 'removing') {
  const made = await worktree(t, true);
  made.git('merge', '-q', '--no-edit', 'ralph/one');
  rmSync(join(made.place.dir, 'made.txt'));
  const base = made.git('rev-parse', 'HEAD~1');
  writeWorktreeRecord(made.projectDir, 'one', made.env, { step, base, hadBranch: false });
  return made;
}

test('files that a killed removal deleted are not taken for deletions by the agent', async (t) => {
  const { projectDir, place, git, again } = await halfRemoved(t, 'removing');
  assert.deepEqual(await again(), { message: 'one: its work was already integrated or removed.', outcome: 'done' });
  assert.equal(existsSync(join(projectDir, 'made.txt')), true);
  assert.equal(existsSync(place.dir), false);
  assert.equal(git('branch', '--list', 'ralph/*'), '');
});

for (const [step, forged] of [
  ['ready', '"removing"'],
  ['removing', '"ready"'],
] as const)
  test(`a worktree's record that another program set from ${step} to ${forged} removes and delivers nothing`, async (t) => {
    const { projectDir, env, place, git, again } = await halfRemoved(t, step);
    const path = join(loopFiles(projectDir, 'one', env).outsideDir, 'worktree.one.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace(`"${step}"`, forged));
    const { outcome, message } = await again();
    assert.equal(outcome, 'failed');
    assert.match(message, /worktree\.one\.json was changed by another program/);
    assert.equal(existsSync(place.dir), true);
    assert.equal(git('branch', '--list', 'ralph/*'), '+ ralph/one');
  });

test('control: without the note of the removal they are', async (t) => {
  const { projectDir, again } = await halfRemoved(t, 'ready');
  assert.equal((await again()).outcome, 'done');
  assert.equal(existsSync(join(projectDir, 'made.txt')), false);
});

test('a worktree that is half removed makes room for a new one', async (t) => {
  const { projectDir, env, place, git } = await halfRemoved(t, 'removing');
  const head = git('rev-parse', 'HEAD');
  makeWorktree({ projectDir, name: 'one', taskPath: null, existing: 'refuse', env });
  assert.equal(readFileSync(join(place.dir, 'made.txt'), 'utf8'), 'made\n');
  assert.equal(readWorktreeRecord(projectDir, 'one', env)?.base, head);
});

test('a removal is noted before git deletes the first file', async (t) => {
  const { projectDir, base, env, again } = await worktree(t, true);
  const bin = join(base, 'bin');
  mkdirSync(bin);
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const record = join(base, 'at-removal');
  const note = `find "$XDG_STATE_HOME" -name 'worktree.one.json' -exec cp {} '${record}' \\;`;
  const script = `#!/bin/sh\ncase "$*" in *"worktree remove"*) ${note} ;; esac\nexec '${real}' "$@"\n`;
  writeFileSync(join(bin, 'git'), script, { mode: 0o755 });
  assert.equal((await again({ path: `${bin}:${env.PATH}` })).outcome, 'done');
  assert.equal((JSON.parse(readFileSync(record, 'utf8')) as { step: string }).step, 'removing');
  assert.equal(readWorktreeRecord(projectDir, 'one', env), null);
});

test('work that a silent hook refuses to commit stays in its worktree, and the message names the command', async (t) => {
  const { base, place, git, again } = await worktree(t, false);
  writeFileSync(join(place.dir, 'made.txt'), 'made\n');
  writeFileSync(join(base, 'pre-commit'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  git('config', 'core.hooksPath', base);
  const { message, outcome } = await again();
  assert.equal(outcome, 'failed');
  assert.match(
    message,
    /^one: nothing was integrated\..*git merge ralph\/one\ngit commit ended with exit code 1 and no message/,
  );
  assert.ok(existsSync(join(place.dir, 'made.txt')));
});

test('a merge that cannot be signed is taken back and reported as that, not as a conflict', async (t) => {
  const { projectDir, base, git, again } = await worktree(t, true);
  writeFileSync(join(projectDir, 'other.txt'), 'other\n');
  git('add', 'other.txt');
  git('commit', '-q', '-m', 'Another');
  const head = git('rev-parse', 'HEAD');
  writeFileSync(join(base, 'gpg'), '#!/bin/sh\necho no key >&2\nexit 1\n', { mode: 0o755 });
  git('config', 'gpg.program', join(base, 'gpg'));
  git('config', 'commit.gpgsign', 'true');
  const { message, outcome } = await again();
  assert.equal(outcome, 'failed');
  assert.match(message, /not integrated: .*failed to sign/s);
  assert.equal(git('rev-parse', 'HEAD'), head);
  assert.equal(git('status', '--porcelain', '--', 'made.txt'), '');
});

test('a branch is merged with a commit although merge.ff allows none', async (t) => {
  const { projectDir, git, again } = await worktree(t, true);
  writeFileSync(join(projectDir, 'other.txt'), 'other\n');
  git('add', 'other.txt');
  git('commit', '-q', '-m', 'Another');
  git('config', 'merge.ff', 'only');
  const { message, outcome } = await again();
  assert.equal(outcome, 'done', message);
  assert.ok(existsSync(join(projectDir, 'made.txt')));
});

test('a branch is merged with a commit although its mergeOptions ask for a squash', async (t) => {
  const { git, again } = await worktree(t, true);
  const tip = git('rev-parse', 'ralph/one');
  git('config', 'branch.main.mergeOptions', '--squash');
  const { message, outcome } = await again();
  assert.equal(outcome, 'done', message);
  assert.equal(git('rev-parse', 'main'), tip);
});

test('a rebase moves no branch of the user, even with rebase.updateRefs', async (t) => {
  const { projectDir, place, git, again } = await worktree(t, true);
  git('branch', 'mine', 'ralph/one');
  git('-C', place.dir, 'commit', '-q', '--allow-empty', '-m', 'More');
  writeFileSync(join(projectDir, 'other.txt'), 'other\n');
  git('add', 'other.txt');
  git('commit', '-q', '-m', 'Another');
  const mine = git('rev-parse', 'mine');
  git('config', 'rebase.updateRefs', 'true');
  const { message, outcome } = await again({ how: 'rebase' });
  assert.equal(outcome, 'done', message);
  assert.equal(git('rev-parse', 'mine'), mine);
});

test('a merge with conflicts in the worktree is not committed as work of its loop', async (t) => {
  const { projectDir, place, git, again } = await worktree(t, true);
  writeFileSync(join(projectDir, 'made.txt'), 'other\n');
  git('add', 'made.txt');
  git('commit', '-q', '-m', 'Make another');
  const head = git('rev-parse', 'HEAD');
  assert.match((await again()).message, /ralph\/one conflicts with the current branch in made\.txt/);
  assert.throws(() => git('-C', place.dir, 'merge', '-q', 'main'));
  const { message, outcome } = await again();
  assert.equal(outcome, 'failed');
  assert.match(message, /a merge in \S+ has conflicts in made\.txt\. Solve them and commit there\./);
  assert.equal(git('rev-parse', 'HEAD'), head);
  writeFileSync(join(place.dir, 'made.txt'), 'both\n');
  git('-C', place.dir, 'add', 'made.txt');
  assert.equal((await again()).outcome, 'done', 'the user has solved them');
  assert.equal(readFileSync(join(projectDir, 'made.txt'), 'utf8'), 'both\n');
});

test('what a later loop in the worktree does is not integrated before it is complete', async (t) => {
  const { place, env, git, again } = await worktree(t, true);
  const head = git('rev-parse', 'HEAD');
  const at = new Date().toISOString();
  startLoop(place.projectDir, 'true', env);
  put(join(place.dir, 'half.txt'), 'half\n');
  for (const how of ['live', 'cancelled']) {
    if (how === 'cancelled') operate(loopFiles(place.projectDir, 'one', env), env, at, () => ({ kind: 'cancel' }));
    const { message, outcome } = await again();
    assert.equal(outcome, 'failed', how);
    assert.match(message, /a later loop in its worktree has not completed/, how);
    assert.equal(git('-C', place.dir, 'status', '--short', 'half.txt'), '?? half.txt', how);
    assert.equal(git('rev-parse', 'HEAD'), head, how);
  }
  await completeLoop(place.projectDir, 'true', env);
  assert.equal((await again()).outcome, 'done', 'control');
});
