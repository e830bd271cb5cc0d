import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { CheckResult } from '../../../src/engine/events.ts';
import type { Contract } from '../../../src/engine/schema/contract.ts';
import { loopFiles } from '../../../src/state/loop-files.ts';
import { runGate } from '../../../src/task/commands/gate.ts';
import type { ValidationEntry } from '../../../src/task/frontmatter/schema.ts';
import { readGitPins } from '../../../src/task/git/git-pins.ts';
import { passingView } from '../../../src/task/git/git-view.ts';
import { buildContract } from '../../../src/task/settings/build-contract.ts';
import { terms } from '../../support/contract-terms.ts';
import { emptyFolder, writeFiles } from '../../support/folder.ts';
import { ENV, repository } from '../../support/repository.ts';
import { OPTIONS } from './support/gate.ts';

const FILES = {
  'src/a.txt': 'a\n',
  'sub/b.txt': 'b\n',
  'gone.txt': 'x\n',
  'run.sh': '#!/bin/sh\ncat src/a.txt\n',
  '.gitignore': 'out/\n*.env\n',
};

interface Place {
  readonly dir: string;
  readonly root: string;
  /** Runs checks on a clean copy. */
  readonly check: (
    runs: readonly ValidationEntry[],
    verifyIn?: Partial<NonNullable<Contract['verifyIn']>>,
    signal?: AbortSignal,
  ) => Promise<CheckResult[]>;
}

async function place(context: TestContext): Promise<Place> {
  const dir = repository(context, FILES);
  const state = emptyFolder(context);
  const files = loopFiles(dir, null, { ...ENV, XDG_STATE_HOME: state });
  mkdirSync(files.outsideDir, { recursive: true });
  const pins = await readGitPins(dir, { env: ENV, signal: OPTIONS.signal });
  assert.ok(pins);
  const view = passingView(files.gitViews, pins);
  const root = join(state, 'copies');
  return {
    dir,
    root,
    check: (runs, verifyIn = {}, signal = OPTIONS.signal) => {
      const { contract } = buildContract(terms(dir, [...runs], { verifyIn: { setup: null, copy: [], ...verifyIn } }));
      return runGate(contract, dir, { ...OPTIONS, env: ENV, signal, copies: { root, view } });
    },
  };
}

test('checks on a clean copy see changed, new and removed files, and no ignored ones', async (context) => {
  const { dir, root, check } = await place(context);
  writeFiles(dir, { 'src/a.txt': 'changed\n', 'new/n.txt': 'n\n', 'out/done': '', 'secret.env': '' });
  symlinkSync('a.txt', join(dir, 'src/link'));
  spawnSync('rm', ['gone.txt'], { cwd: dir });
  const results = await check([
    'grep changed src/a.txt && grep changed src/link && test -e new/n.txt && test ! -e gone.txt && test -x run.sh',
    'test ! -e out/done && test ! -e secret.env',
    `test "$PWD" != '${dir}'`,
    'git log --oneline | grep -q first && git diff --quiet HEAD -- sub && ! git diff --quiet HEAD -- src && git rev-parse main',
    'touch left.txt',
  ]);
  assert.deepEqual(
    results.map(({ outcome, detail }) => `${outcome} ${detail}`),
    Array(5).fill('ok exit code 0.'),
  );
  assert.deepEqual(readdirSync(root), [], 'the copy is removed');
  assert.ok(!readdirSync(dir).includes('left.txt'));
});

test('control: leftovers of the agent pass a check that runs in the project', async (context) => {
  const { dir } = await place(context);
  writeFiles(dir, { 'out/done': '' });
  const { contract } = buildContract(terms(dir, ['test -e out/done']));
  assert.deepEqual(
    (await runGate(contract, dir, { ...OPTIONS, env: ENV })).map(({ outcome }) => outcome),
    ['ok'],
  );
});

test('an ignore rule of the agent keeps none of its files out of the copy', async (context) => {
  const { dir, check } = await place(context);
  writeFiles(dir, { 'bad.txt': '' });
  writeFileSync(join(dir, '.git/info/exclude'), 'bad.txt\n');
  assert.deepEqual(
    (await check(['test ! -e bad.txt'])).map(({ outcome }) => outcome),
    ['failed'],
  );
});

test('worktree_copy and worktree_setup prepare the copy, and a failing set-up runs no check', async (context) => {
  const { dir, root, check } = await place(context);
  writeFiles(dir, { 'a.env': 'x', 'out/done': '', 'setup.sh': 'cp a.env made; echo "$RALPH_MAIN_PROJECT" > main\n' });
  const ready = await check(['test -e made && grep -qx "$PWD" main; test $? = 1 && test ! -e out'], {
    setup: 'sh setup.sh',
    copy: ['*.env'],
  });
  assert.deepEqual(
    ready.map(({ outcome }) => outcome),
    ['ok'],
  );
  const broken = await check(['true'], { setup: 'echo no network; exit 3' });
  assert.equal(broken.length, 1);
  assert.match(broken[0]?.detail ?? '', /^worktree_setup failed in the clean copy: exit code 3\.\nno network/);
  const late = await check([{ name: 'a', run: 'true', timeout: 1 }], { setup: 'sleep 60' });
  assert.match(late[0]?.detail ?? '', /not done within the time of the first check/);
  assert.deepEqual(readdirSync(root), []);
});

test('refuses a changed script before it runs on a copy', async (context) => {
  const { dir, check } = await place(context);
  const first = check(['sh run.sh']);
  assert.deepEqual(
    (await first).map(({ outcome }) => outcome),
    ['ok'],
  );
  const { contract } = buildContract(terms(dir, ['sh run.sh'], { verifyIn: { setup: null, copy: [] } }));
  writeFiles(dir, { 'run.sh': 'true\n' });
  const copies = { root: join(dir, '..', 'none'), view: null };
  assert.deepEqual(
    (await runGate(contract, dir, { ...OPTIONS, env: ENV, copies })).map(({ outcome }) => outcome),
    ['changed'],
  );
});

test('removes the copy of a killed process and keeps one in use', async (context) => {
  const { root, check } = await place(context);
  for (const [name, pid] of [
    ['dead', 2 ** 22 - 1],
    ['used', process.pid],
  ] as const) {
    mkdirSync(join(root, name), { recursive: true });
    writeFileSync(join(root, name, 'owner.json'), JSON.stringify({ pid, startedAt: null }));
  }
  mkdirSync(join(root, 'torn'));
  assert.deepEqual(
    (await check(['true'])).map(({ outcome }) => outcome),
    ['ok'],
  );
  assert.deepEqual(readdirSync(root), ['used']);
});

test('an abort leaves no copy behind', async (context) => {
  const { root, check } = await place(context);
  const end = new AbortController();
  const run = check(['sleep 60'], { setup: 'true' }, end.signal);
  const rejected = assert.rejects(run, /enough/);
  while (!readdirSync(join(root, '..')).includes('copies') || readdirSync(root).length === 0)
    await new Promise((next) => setTimeout(next, 10));
  end.abort(new Error('enough'));
  await rejected;
  assert.deepEqual(readdirSync(root), []);
});

test('without a repository the check is unavailable', async (context) => {
  const dir = emptyFolder(context);
  const { contract } = buildContract(terms(dir, ['true'], { verifyIn: { setup: null, copy: [] } }));
  const copies = { root: join(emptyFolder(context), 'copies'), view: null };
  const [only] = await runGate(contract, dir, { ...OPTIONS, env: ENV, copies });
  assert.equal(only?.outcome, 'unavailable');
  assert.match(only?.detail ?? '', /checks on a clean copy need a git repository with a commit/);
});
