import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { GIT_LIMITS } from '../../../src/task/progress/git-state.ts';
import { FOLDER_LIMITS, markFolder } from '../../../src/task/progress/mark-folder.ts';
import { readSnapshot, writeSnapshot } from '../../../src/task/snapshot-store.ts';
import {
  type Comparison,
  compare,
  type Snapshot,
  type SnapshotOptions,
  snapshot,
} from '../../../src/task/task-progress.ts';
import { project, writeFiles } from './support/project.ts';

const TASK = 'tasks/one';
const FILES = {
  'tasks/one/RALPH.md': 'Do it.\n',
  'tasks/one/notes.md': 'none\n',
  'src/a.ts': 'a\n',
  'src/b.ts': 'b\n',
  '.gitignore': '*.log\n',
};
/** Nothing of the user's own configuration. */
const ENV = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };

function git(directory: string, ...words: string[]): string {
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@localhost', '-c', 'protocol.file.allow=always'];
  return execFileSync('git', [...who, ...words], { cwd: directory, env: ENV, encoding: 'utf8', stdio: 'pipe' });
}

/** A project that is the top of a repository, with these files committed. */
function repository(context: TestContext, files: Readonly<Record<string, string>> = FILES): string {
  const directory = project(context, files);
  git(directory, 'init', '--quiet', '--initial-branch=main');
  git(directory, 'add', '--all');
  git(directory, 'commit', '--quiet', '--message', 'first');
  return directory;
}

function look(directory: string, more: SnapshotOptions = {}): Promise<Snapshot> {
  return snapshot(directory, TASK, { env: ENV, ...more });
}

async function after(directory: string, change: () => void, more: SnapshotOptions = {}): Promise<Comparison> {
  const before = await look(directory, more);
  assert.equal(compare(before, await look(directory, more)).changedFiles.length, 0, 'control: nothing has changed yet');
  change();
  return compare(before, await look(directory, { ...more, since: before }));
}

function changed(progress: Comparison['progress'], ...changedFiles: string[]): Comparison {
  return { progress, changedFiles, bounded: [] };
}

test('nothing changed is no progress', async (context) => {
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
  {
    name: 'what tools make',
    change: (at) =>
      writeFiles(at, { 'node_modules/a/b.js': '', 'dist/a.js': '', 'tasks/one/build/x': '', 'src/.cache/x': '' }),
  },
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

test('a second change of a file that git knows as changed already is progress', async (context) => {
  const directory = repository(context);
  writeFiles(directory, { 'src/a.ts': 'one\n', 'src/new.ts': 'one\n' });
  const statusBefore = git(directory, 'status', '--porcelain');
  const change = () => writeFiles(directory, { 'src/a.ts': 'two\n', 'src/new.ts': 'two\n' });
  assert.deepEqual(await after(directory, change), changed('yes', 'src/a.ts', 'src/new.ts'));
  assert.equal(git(directory, 'status', '--porcelain'), statusBefore, "control: git's own answer is the same");
});

test('what is staged counts, and so does staging something else', async (context) => {
  const directory = repository(context);
  writeFiles(directory, { 'src/a.ts': 'one\n' });
  assert.deepEqual(await after(directory, () => git(directory, 'add', 'src/a.ts')), changed('yes', 'src/a.ts'));
  const again = () => {
    writeFiles(directory, { 'src/a.ts': 'two\n' });
    git(directory, 'add', 'src/a.ts');
  };
  assert.deepEqual(await after(directory, again), changed('yes', 'src/a.ts'));
});

test('a conflict and its solution are progress', async (context) => {
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

test('a repository without a commit yet is seen', async (context) => {
  const directory = project(context, FILES);
  git(directory, 'init', '--quiet');
  assert.deepEqual(await after(directory, () => {}), changed('no'));
  assert.deepEqual(
    await after(directory, () => writeFiles(directory, { 'src/a.ts': 'A' })),
    changed('yes', 'src/a.ts'),
  );
});

test('a project inside a larger repository is its own part of it', async (context) => {
  const top = repository(context, { 'part/src/a.ts': 'a\n', 'part/tasks/one/RALPH.md': '', 'elsewhere/x.ts': 'x\n' });
  const directory = join(top, 'part');
  assert.deepEqual(await after(directory, () => writeFiles(top, { 'elsewhere/x.ts': 'X\n' })), changed('no'));
  assert.deepEqual(
    await after(directory, () => writeFiles(directory, { 'src/a.ts': 'A\n' })),
    changed('yes', 'src/a.ts'),
  );
  const commit = () => git(directory, 'commit', '--quiet', '--all', '--message', 'second');
  assert.deepEqual(await after(directory, commit), changed('yes', 'src/a.ts'));
});

test('without a repository only the task folder is known', async (context) => {
  const directory = project(context, FILES);
  const bounded = ['git-repository'];
  assert.deepEqual(await after(directory, () => writeFiles(directory, { 'src/a.ts': 'A' })), {
    ...changed('unknown'),
    bounded,
  });
  const inTask = () => writeFiles(directory, { 'tasks/one/notes.md': 'some' });
  assert.deepEqual(await after(directory, inTask), { ...changed('yes', 'tasks/one/notes.md'), bounded });
});

test('a repository above that ignores the project knows nothing of it', async (context) => {
  const top = repository(context, { '.gitignore': 'part/\n' });
  writeFiles(join(top, 'part'), FILES);
  const { progress, bounded } = await after(join(top, 'part'), () => {});
  assert.deepEqual([progress, bounded], ['unknown', ['git-repository']]);
});

test('without git only the task folder is known', async (context) => {
  const directory = repository(context);
  const { progress, bounded } = await after(directory, () => {}, { env: { PATH: join(directory, 'src') } });
  assert.deepEqual([progress, bounded], ['unknown', ['git-missing']]);
});

test('a git that takes too long is ended, and nothing is known of it', async (context) => {
  const directory = repository(context);
  writeFiles(directory, { 'bin/git.sh': '#!/bin/sh\necho $$ > "$PIDS"; exec sleep 300\n' });
  symlinkSync('git.sh', join(directory, 'bin/git'));
  const pids = join(directory, 'tasks/one/.ralph-runner.pid');
  const env = { PATH: `${join(directory, 'bin')}:${process.env['PATH']}`, PIDS: pids };
  const found = await look(directory, { env, gitLimits: { ...GIT_LIMITS, timeMs: 300 } });
  assert.equal(found.gitLimit, 'git-time');
  assert.equal(existsSync(pids), true, 'control: it was started');
});

test('an abort ends the look with its reason', async (context) => {
  const directory = repository(context);
  await assert.rejects(look(directory, { signal: AbortSignal.abort(new Error('told to go')) }), /told to go/);
});

test('over the bounds a seen change is progress, and otherwise nobody knows', async (context) => {
  const directory = repository(context);
  for (let n = 0; n < 30; n++) writeFiles(directory, { [`tasks/one/a${String(n).padStart(2, '0')}.md`]: 'x' });
  const folderLimits = { ...FOLDER_LIMITS, entries: 10 };
  // What git sees of the folder is not asked for here.
  const more = { folderLimits, gitLimits: { ...GIT_LIMITS, files: 5 } };
  const unseen = () => writeFiles(directory, { 'tasks/one/a29.md': 'y' });
  assert.deepEqual(await after(directory, unseen, more), {
    ...changed('unknown'),
    bounded: ['git-files', 'task-files'],
  });
  const seen = () => writeFiles(directory, { 'tasks/one/a01.md': 'y' });
  assert.deepEqual(await after(directory, seen, more), {
    ...changed('yes', 'tasks/one/a01.md'),
    bounded: ['git-files', 'task-files'],
  });
  const pushedOut = () => writeFiles(directory, { 'tasks/one/a000.md': 'new' });
  const { changedFiles } = await after(directory, pushedOut, more);
  assert.deepEqual(changedFiles, [], 'a file that a bound may have cut is not called changed');
});

test('what is not read is known by size and time', async (context) => {
  const directory = repository(context);
  writeFiles(directory, { 'tasks/one/large.bin': '', 'tasks/one/small.md': 'one' });
  truncateSync(join(directory, 'tasks/one/large.bin'), 6 * 1024 * 1024);
  const large = () => utimesSync(join(directory, 'tasks/one/large.bin'), 5, 5);
  assert.deepEqual(await after(directory, large), changed('yes', 'tasks/one/large.bin'));
  const poor = { folderLimits: { ...FOLDER_LIMITS, bytes: 0 }, gitLimits: { ...GIT_LIMITS, read: 0 } };
  const small = () => writeFiles(directory, { 'tasks/one/small.md': 'other' });
  const { progress, changedFiles, bounded } = await after(directory, small, poor);
  assert.deepEqual([progress, changedFiles, bounded], ['yes', ['tasks/one/small.md'], ['git-bytes', 'task-bytes']]);
});

test('links are not followed, and a FIFO holds nobody up', async (context) => {
  const directory = repository(context);
  const outside = project(context, { 'x.md': 'x' });
  symlinkSync(outside, join(directory, 'tasks/one/out'));
  symlinkSync(join(outside, 'x.md'), join(directory, 'tasks/one/x.md'));
  execFileSync('mkfifo', [join(directory, 'tasks/one/pipe'), join(directory, 'src/pipe')]);
  mkdirSync(join(directory, 'src/nested'));
  execFileSync('mkfifo', [join(directory, 'src/nested/.git')]);
  assert.deepEqual(await after(directory, () => appendFileSync(join(outside, 'x.md'), 'more')), changed('no'));
});

test('a task folder that leads out of the project is not looked at', async (context) => {
  const directory = project(context);
  const outside = project(context, { 'RALPH.md': '' });
  mkdirSync(join(directory, 'tasks'));
  symlinkSync(outside, join(directory, TASK));
  const { task } = await look(directory);
  assert.deepEqual(task, { files: {}, complete: false, limits: ['task-outside'] });
});

test('what cannot be read leaves the answer open', (context) => {
  const directory = project(context, {
    'tasks/one/RALPH.md': '',
    'tasks/one/secret.md': 'x',
    'tasks/one/closed/a': '',
  });
  const asNobody = (): ReturnType<typeof markFolder> => {
    if (process.getuid?.() !== 0) return markFolder(directory, TASK);
    process.seteuid?.(65534);
    try {
      return markFolder(directory, TASK);
    } finally {
      process.seteuid?.(0);
    }
  };
  chmodSync(directory, 0o755);
  assert.equal(asNobody().complete, true, 'control: all of it can be read');
  chmodSync(join(directory, 'tasks/one/secret.md'), 0);
  const { files, complete, limits } = asNobody();
  assert.deepEqual(
    [Object.keys(files), complete, limits],
    [['tasks/one/RALPH.md', 'tasks/one/closed/a'], false, ['task-unreadable']],
  );
  chmodSync(join(directory, 'tasks/one/secret.md'), 0o644);
  chmodSync(join(directory, 'tasks/one/closed'), 0);
  assert.deepEqual(asNobody().limits, ['task-unreadable']);
  chmodSync(join(directory, 'tasks/one/closed'), 0o755);
});

test('a repository inside the project is known by its commits', async (context) => {
  const directory = repository(context);
  const nested = join(directory, 'nested');
  writeFiles(nested, { 'x.ts': 'x' });
  git(nested, 'init', '--quiet');
  git(nested, 'add', '--all');
  git(nested, 'commit', '--quiet', '--message', 'first');
  const commit = () => git(nested, 'commit', '--quiet', '--allow-empty', '--message', 'second');
  assert.deepEqual(await after(directory, commit), changed('yes', 'nested/'));
});

const PROGRAMS: readonly (readonly [key: string, attributes: string])[] = [
  ['core.fsmonitor', ''],
  ['core.hooksPath', ''],
  ['filter.evil.clean', '*.ts filter=evil\n'],
  ['filter.evil.process', '*.ts filter=evil\n'],
  ['filter.a=b.clean', '*.ts filter=a=b\n'],
];

for (const [key, attributes] of PROGRAMS) {
  test(`no program that the repository names is started, and nothing is written: ${key}`, async (context) => {
    const directory = repository(context, { ...FILES, '.gitattributes': attributes });
    const ran = join(directory, 'tasks/one/.ralph-runner.ran');
    const hooks = join(directory, 'hooks');
    writeFiles(directory, { 'hooks/hook.sh': `#!/bin/sh\ntouch ${ran}\n` });
    symlinkSync('hook.sh', join(hooks, 'post-index-change'));
    git(directory, 'config', key, key === 'core.hooksPath' ? hooks : `touch ${ran}; cat`);
    // Of the same size and another time: git has to read it to know.
    utimesSync(join(directory, 'src/a.ts'), 5, 5);
    const index = readFileSync(join(directory, '.git/index'));
    const { git: state } = await look(directory);
    assert.deepEqual(Object.keys(state?.tree.files ?? {}), ['hooks/hook.sh', 'hooks/post-index-change']);
    assert.equal(existsSync(ran), false);
    assert.deepEqual(readFileSync(join(directory, '.git/index')), index);
    spawnSync('git', ['status'], { cwd: directory, env: ENV });
    assert.equal(existsSync(ran), true, 'control: a plain git status starts it');
  });
}

test('a submodule is known by its commits, and its own configuration starts nothing', async (context) => {
  const library = repository(context, { 'x.ts': 'x' });
  const directory = repository(context);
  git(directory, 'submodule', '--quiet', 'add', library, 'lib');
  git(directory, 'commit', '--quiet', '--message', 'with a library');
  const lib = join(directory, 'lib');
  for (const message of ['second', 'third']) {
    const commit = () => git(lib, 'commit', '--quiet', '--allow-empty', '--message', message);
    assert.deepEqual(await after(directory, commit), changed('yes', 'lib'), message);
  }
  const ran = join(directory, 'tasks/one/ran');
  git(lib, 'config', 'core.fsmonitor', `touch ${ran}; cat`);
  await look(directory);
  assert.equal(existsSync(ran), false);
  spawnSync('git', ['status'], { cwd: directory, env: ENV });
  assert.equal(existsSync(ran), true, 'control: a plain git status starts it');
});

test('a stored HEAD is never taken for an option of git', async (context) => {
  const directory = repository(context);
  const before = await look(directory);
  const written = join(directory, 'written');
  const forged = before.git && { ...before, git: { ...before.git, head: `--output=${written}` } };
  const now = await look(directory, { since: forged });
  assert.deepEqual([now.git?.committed, existsSync(written)], [null, false]);
});

test('a program that only the user configures is believed', async (context) => {
  const directory = repository(context, { ...FILES, '.gitattributes': '*.ts filter=mine\n' });
  const config = join(directory, 'src/config');
  writeFileSync(config, '[filter "mine"]\n\tclean = "sed s/A/a/"\n');
  const env = { ...ENV, GIT_CONFIG_GLOBAL: config };
  assert.deepEqual(await after(directory, () => writeFiles(directory, { 'src/a.ts': 'A\n' }), { env }), changed('no'));
  assert.equal((await after(directory, () => writeFiles(directory, { 'src/a.ts': 'B\n' }), { env })).progress, 'yes');
});

test('variables of git in the environment lead nowhere else', async (context) => {
  const directory = repository(context);
  const other = repository(context);
  const env = { ...ENV, GIT_DIR: join(other, '.git'), GIT_WORK_TREE: other, GIT_INDEX_FILE: join(other, '.git/index') };
  assert.deepEqual(
    await after(directory, () => writeFiles(directory, { 'src/a.ts': 'A' }), { env }),
    changed('yes', 'src/a.ts'),
  );
});

test('a task folder that is the project itself is looked at', async (context) => {
  const directory = repository(context, { 'RALPH.md': '', 'src/a.ts': 'a', 'node_modules/x.js': '' });
  const before = await snapshot(directory, directory, { env: ENV });
  writeFiles(directory, { 'RALPH_PROGRESS.md': 'x', '.ralph-runner/status.json': '', '.claude/context/runtime/x': '' });
  assert.equal(compare(before, await snapshot(directory, '.', { env: ENV })).progress, 'no');
  writeFiles(directory, { 'src/a.ts': 'A' });
  assert.deepEqual(compare(before, await snapshot(directory, '', { env: ENV })), changed('yes', 'src/a.ts'));
});

test('folders above the task folder may be called what they like', async (context) => {
  const directory = repository(context, { 'build/tasks/one/RALPH.md': '', 'build/x': '' });
  const before = await snapshot(directory, 'build/tasks/one', { env: ENV });
  writeFiles(directory, { 'build/tasks/one/out.md': '', 'build/x': 'x' });
  const now = await snapshot(directory, 'build/tasks/one', { env: ENV });
  assert.deepEqual(compare(before, now), changed('yes', 'build/tasks/one/out.md'));
});

test('at most 200 changed files are named', async (context) => {
  const directory = repository(context);
  const many = () =>
    writeFiles(directory, Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`src/n${n}.ts`, ''])));
  const { progress, changedFiles, bounded } = await after(directory, many);
  assert.deepEqual([progress, changedFiles.length, bounded], ['yes', 200, ['changed-files']]);
});

test('a snapshot of another task folder proves nothing', async (context) => {
  const directory = repository(context);
  const before = await look(directory);
  assert.equal(compare(before, await snapshot(directory, 'tasks/two', { env: ENV })).progress, 'unknown');
});

test('a stored snapshot is the same again, and whatever else lies there is none', async (context) => {
  const directory = repository(context);
  writeFiles(directory, { 'src/a.ts': 'A', 'tasks/one/__proto__': 'x' });
  const taken = await look(directory);
  const path = join(directory, 'snapshot.json');
  writeSnapshot(path, taken);
  assert.deepEqual(readSnapshot(path), taken);
  assert.equal(compare(taken, readSnapshot(path) ?? assert.fail()).progress, 'no');
  const odd: unknown[] = [null, [], 1, {}, { ...taken, version: 2 }, { ...taken, task: null }, { ...taken, git: {} }];
  odd.push({ ...taken, task: { ...taken.task, files: { a: 1 } } }, { ...taken, task: { ...taken.task, limits: [1] } });
  odd.push(
    { ...taken, git: { ...taken.git, committed: { since: 'a' } } },
    { ...taken, git: { ...taken.git, tree: [] } },
  );
  for (const value of odd) {
    writeFileSync(path, JSON.stringify(value));
    assert.equal(readSnapshot(path), null, JSON.stringify(value));
  }
  writeFileSync(path, JSON.stringify(taken).slice(0, -1));
  assert.equal(readSnapshot(path), null, 'a torn one');
  rmSync(path);
  assert.equal(readSnapshot(path), null);
  execFileSync('mkfifo', [path]);
  assert.equal(readSnapshot(path), null, 'a FIFO');
});
