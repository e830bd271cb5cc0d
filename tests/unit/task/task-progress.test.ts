import assert from 'node:assert/strict';
import { chmodSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeFiles } from '../../support/folder.ts';
import { after, changed, git, repository, TASK } from '../../support/repository.ts';

test('no change is no progress', async (context) => {
  assert.deepEqual(await after(repository(context), () => {}), changed('no'));
});

const CHANGES: readonly { name: string; files: string[]; change: (directory: string) => void }[] = [
  {
    name: 'a file of the task folder',
    files: ['tasks/one/notes.md'],
    change: (at) => writeFiles(at, { 'tasks/one/notes.md': 'some\n' }),
  },
  {
    name: 'a new file in the task folder',
    files: ['tasks/one/out/x.md'],
    change: (at) => writeFiles(at, { 'tasks/one/out/x.md': '' }),
  },
  {
    name: 'an ignored file in the task folder',
    files: ['tasks/one/x.log'],
    change: (at) => writeFiles(at, { 'tasks/one/x.log': 'x' }),
  },
  {
    name: 'a file that left the task folder',
    files: ['tasks/one/notes.md'],
    change: (at) => rmSync(join(at, 'tasks/one/notes.md')),
  },
  {
    name: 'a task folder that is gone',
    files: ['tasks/one/RALPH.md', 'tasks/one/notes.md'],
    change: (at) => rmSync(join(at, TASK), { recursive: true }),
  },
  { name: 'a file of the project', files: ['src/a.ts'], change: (at) => writeFiles(at, { 'src/a.ts': 'A\n' }) },
  {
    name: 'a new file of the project',
    files: ['src/new/c.ts'],
    change: (at) => writeFiles(at, { 'src/new/c.ts': '' }),
  },
  { name: 'a removed file of the project', files: ['src/b.ts'], change: (at) => rmSync(join(at, 'src/b.ts')) },
  { name: 'a file that became a program', files: ['src/a.ts'], change: (at) => chmodSync(join(at, 'src/a.ts'), 0o755) },
  {
    name: 'a file that became a link',
    files: ['src/a.ts'],
    change: (at) => {
      rmSync(join(at, 'src/a.ts'));
      symlinkSync('b.ts', join(at, 'src/a.ts'));
    },
  },
  {
    name: 'a commit of it all',
    files: ['src/a.ts', 'src/c.ts'],
    change: (at) => {
      writeFiles(at, { 'src/a.ts': 'A\n', 'src/c.ts': '' });
      git(at, 'add', '--all');
      git(at, 'commit', '--quiet', '--message', 'second');
    },
  },
  {
    name: 'an empty commit',
    files: [],
    change: (at) => git(at, 'commit', '--quiet', '--allow-empty', '--message', 'empty'),
  },
  {
    name: 'a name with a line break, quotes and more',
    files: ['src/a "b\n\u00e9.ts'],
    change: (at) => writeFiles(at, { 'src/a "b\n\u00e9.ts': '' }),
  },
];

for (const { name, files, change } of CHANGES) {
  test(`progress: ${name}`, async (context) => {
    const directory = repository(context);
    assert.deepEqual(await after(directory, () => change(directory)), changed('yes', ...files));
  });
}

const NO_CHANGES: readonly { name: string; change: (directory: string) => void }[] = [
  {
    name: 'a file with another time',
    change: (at) => {
      utimesSync(join(at, 'src/a.ts'), 1, 1);
      utimesSync(join(at, 'tasks/one/notes.md'), 1, 1);
    },
  },
  { name: 'an ignored file of the project', change: (at) => writeFiles(at, { 'x.log': 'x' }) },
  ...['node_modules', '.next', '.turbo', '.cache', 'coverage', 'dist', 'build'].map((name) => ({
    name: `what tools make: ${name}`,
    change: (at: string) => writeFiles(at, { [`${name}/a/b`]: '', [`tasks/one/${name}/x`]: '', [`src/${name}/x`]: '' }),
  })),
  { name: 'the rolling memory', change: (at) => writeFiles(at, { 'tasks/one/RALPH_PROGRESS.md': 'still at it\n' }) },
  {
    name: 'the run state of the task folder',
    change: (at) =>
      writeFiles(at, {
        'tasks/one/.ralph-runner/status.json': '{}',
        'tasks/one/.ralph-runner-archive/x/status.json': '',
      }),
  },
  {
    name: "the loop's own state, memory and signs",
    change: (at) =>
      writeFiles(at, {
        '.claude/context/runtime/ralph-state.one.json': '{}',
        '.claude/context/memory/learnings.md': 'x',
        '.claude/ralph/guardrails.md': 'x',
      }),
  },
  {
    name: "a commit of nothing but the loop's own",
    change: (at) => {
      writeFiles(at, { 'tasks/one/RALPH_PROGRESS.md': 'x', '.claude/ralph/guardrails.md': 'x' });
      git(at, 'add', '--all');
      git(at, 'commit', '--quiet', '--message', 'notes');
    },
  },
  {
    name: 'a change that was taken back',
    change: (at) => {
      writeFiles(at, { 'src/a.ts': 'A\n' });
      git(at, 'add', '--all');
      git(at, 'status');
      writeFiles(at, { 'src/a.ts': 'a\n' });
      git(at, 'add', '--all');
    },
  },
  { name: 'another branch at the same commit', change: (at) => git(at, 'checkout', '--quiet', '-b', 'other') },
];

for (const { name, change } of NO_CHANGES) {
  test(`no progress: ${name}`, async (context) => {
    const directory = repository(context);
    assert.deepEqual(await after(directory, () => change(directory)), changed('no'));
  });
}

test('a second change of a file that git already lists as changed is progress', async (context) => {
  const directory = repository(context);
  writeFiles(directory, { 'src/a.ts': 'one\n', 'src/new.ts': 'one\n' });
  const statusBefore = git(directory, 'status', '--porcelain');
  const change = () => writeFiles(directory, { 'src/a.ts': 'two\n', 'src/new.ts': 'two\n' });
  assert.deepEqual(await after(directory, change), changed('yes', 'src/a.ts', 'src/new.ts'));
  assert.equal(git(directory, 'status', '--porcelain'), statusBefore, "control: git's own answer is the same");
});

test('staging counts as progress, and so does staging something else', async (context) => {
  const directory = repository(context);
  writeFiles(directory, { 'src/a.ts': 'one\n' });
  assert.deepEqual(await after(directory, () => git(directory, 'add', 'src/a.ts')), changed('yes', 'src/a.ts'));
  const again = () => {
    writeFiles(directory, { 'src/a.ts': 'two\n' });
    git(directory, 'add', 'src/a.ts');
  };
  assert.deepEqual(await after(directory, again), changed('yes', 'src/a.ts'));
});

test('a conflict and its resolution are progress', async (context) => {
  const directory = repository(context);
  git(directory, 'checkout', '--quiet', '-b', 'other');
  writeFiles(directory, { 'src/a.ts': 'theirs\n' });
  git(directory, 'commit', '--quiet', '--all', '--message', 'theirs');
  git(directory, 'checkout', '--quiet', 'main');
  writeFiles(directory, { 'src/a.ts': 'ours\n' });
  git(directory, 'commit', '--quiet', '--all', '--message', 'ours');
  const merge = () => assert.throws(() => git(directory, 'merge', '--quiet', 'other'));
  assert.deepEqual(await after(directory, merge), changed('yes', 'src/a.ts'));
  assert.deepEqual(await after(directory, () => git(directory, 'add', 'src/a.ts')), changed('yes', 'src/a.ts'));
});
