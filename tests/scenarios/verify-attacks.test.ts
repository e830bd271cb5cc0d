import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { emptyFolder } from '../support/folder.ts';
import { GIT_ENV, type Git, initRepository } from '../support/git.ts';
import type { Project } from '../support/project.ts';
import { longTest } from '../support/short-form.ts';
import { agent } from './support/command-agent.ts';
import { cloned, complete, completed, differences, forge, PROOF, type record, TASK } from './support/proved-loop.ts';

const FILE_URLS = ['-c', 'protocol.file.allow=always'];

/** git in the clone of another machine. */
const gitIn =
  ({ dir }: Project): Git =>
  (...words) =>
    spawnSync('git', words, { cwd: join(dir, 'clone'), env: GIT_ENV, encoding: 'utf8' }).stdout;

const libraries = (p: Project): void => {
  for (const name of ['one', 'two', 'three']) p.write(`${name}.txt`, `${name}\n`);
  p.sh('touch -d 2020-01-01 *.txt');
};

test('a changed file is found although git was told not to look at it', async () => {
  const { p, git } = completed(libraries);
  git('update-index', '--assume-unchanged', 'one.txt');
  git('update-index', '--skip-worktree', 'two.txt');
  for (const [key, value] of [
    ['core.checkStat', 'minimal'],
    ['core.trustctime', 'false'],
  ] as const)
    git('config', key, value);
  // What is left are size and time.
  git('update-index', '--refresh');
  p.write('one.txt', 'changed\n');
  p.write('two.txt', 'changed\n');
  // The index knows of three.txt in which second its inode changed, which is all that differs.
  p.sh('sleep 1');
  p.write('three.txt', 'THREE\n');
  p.sh('touch -d 2020-01-01 three.txt');
  assert.equal(git('status', '--porcelain', '--untracked-files=no'), '', 'the control: git sees no change');
  assert.deepEqual(await differences(p), { files: 'differ since the verdict: one.txt, three.txt, two.txt' });
});

test('a commit that stands in for another one on this machine is not what --tree checks', async () => {
  const { p, git } = completed(libraries);
  const good = git('rev-parse', 'HEAD').trim();
  p.write('one.txt', 'changed\n');
  git('commit', '-qam', 'Change it');
  const bad = git('rev-parse', 'HEAD').trim();
  git('replace', bad, good);
  assert.equal(git('show', 'HEAD:one.txt'), 'one\n', 'the control: git shows the good one');
  assert.deepEqual(await differences(p, '--tree', 'HEAD'), { files: 'differ since the verdict: one.txt' });
  git('replace', '-d', bad);
  git('replace', '--graft', bad);
  assert.doesNotMatch(
    (await differences(p, '--tree', 'HEAD'))['files'] ?? '',
    /another branch/,
    'nor is a made-up history',
  );
});

test('an amended, squashed or merged commit with the same files holds, and other files are named', async () => {
  const { p, git } = completed(libraries);
  git('commit', '-q', '--amend', '-m', 'Another message');
  assert.deepEqual(await differences(p), {}, 'amended');
  git('checkout', '-q', '-b', 'base', 'HEAD~1');
  git('merge', '-q', '--squash', 'main');
  git('commit', '-qm', 'Squashed');
  assert.deepEqual(await differences(p), {}, 'squashed');
  git('reset', '-q', '--hard', 'HEAD~1');
  git('merge', '-q', '--no-ff', '-m', 'Merged', 'main');
  assert.deepEqual(await differences(p), {}, 'merged');
  git('checkout', '-q', '-B', 'moved', 'HEAD~1');
  p.write('one.txt', 'from another pull request\n');
  git('commit', '-qam', 'Move on');
  git('cherry-pick', 'main');
  const rebased = "differ since the verdict: one.txt; the loop's commits are on another branch, or were rewritten";
  assert.deepEqual(await differences(p), { files: rebased }, 'rebased onto other work');
});

test('a shallow clone verifies, and says that it is shallow where it cannot tell what differs', async (t) => {
  const { p, git } = completed(libraries);
  const { there, at } = cloned(t, p, '--depth', '1');
  assert.deepEqual(await differences(there, '--proof', at), {});
  p.write('one.txt', 'changed\n');
  git('commit', '-qam', 'Change it');
  const later = cloned(t, p, '--depth', '1');
  assert.deepEqual(await differences(later.there, '--proof', later.at), {
    files:
      "other files than at the verdict; the loop's commits are not in this clone, which is shallow (git fetch --unshallow)",
  });
});

test('the line ends of another machine are no change, and a changed task is one with either', async (t) => {
  const { p } = completed(libraries);
  const { there, at } = cloned(t, p, '-c', 'core.autocrlf=true');
  const task = 'clone/.ralph/fix/RALPH.md';
  assert.match(there.read(task), /\r\n/, 'the control');
  assert.deepEqual(await differences(there, '--proof', at), {});
  there.write(task, there.read(task).replace('Make the', 'Make another'));
  assert.deepEqual(await differences(there, '--proof', at), { task: '.ralph/fix/RALPH.md changed since the verdict' });
});

/** Adds a submodule in `lib`. */
function withSubmodule(t: TestContext): (p: Project) => void {
  const source = emptyFolder(t);
  const git = initRepository(source);
  spawnSync('sh', ['-c', 'echo lib > lib.txt'], { cwd: source });
  git('add', '--all');
  git('commit', '-qm', 'Library');
  return (p) => {
    initRepository(p.dir)(...FILE_URLS, 'submodule', '--quiet', 'add', source, 'lib');
  };
}

longTest('a submodule that is changed inside or not checked out is named', async (t) => {
  const { p } = complete(t, withSubmodule(t));
  assert.deepEqual(await differences(p), {}, 'control');
  p.write('lib/lib.txt', 'changed\n');
  const changed = { files: 'the repository lib has changes that its commit does not hold' };
  assert.deepEqual(await differences(p), changed);
  p.sh('cd lib && git update-index --assume-unchanged lib.txt');
  assert.equal(p.sh('git status --porcelain lib').stdout, '', 'control: git sees no change');
  assert.deepEqual(await differences(p), changed);
  const { there, at } = cloned(t, p);
  assert.deepEqual(await differences(there, '--proof', at), {
    files: 'the submodule lib is not checked out (git submodule update --init)',
  });
  gitIn(there)(...FILE_URLS, 'submodule', '--quiet', 'update', '--init');
  assert.deepEqual(await differences(there, '--proof', at), {});
});

test('files are named that settings in .git hide, and a repository within the project is looked into', async (t) => {
  const { p, git } = complete(t, (own) => {
    libraries(own);
    initRepository(join(own.dir, 'inner'));
    own.sh('cd inner && echo 1 > a.txt && git add -A && git -c user.name=t -c user.email=t@t commit -qm Inner');
  });
  assert.deepEqual(await differences(p), {}, 'control');
  p.write('.git/info/exclude', 'hidden.txt\n');
  p.write('hidden.txt', 'x\n');
  assert.deepEqual(await differences(p), {});
  assert.match(
    p.ralph(['verify']).stdout,
    /as they were at the verdict; not compared, as git ignores them: .*hidden\.txt/,
  );
  git('config', 'filter.lfs.clean', 'cat');
  assert.deepEqual(await differences(p), {}, 'control: a filter that is used by no file of .git');
  git('config', 'filter.old.clean', 'echo one');
  p.write('.git/info/attributes', 'one.txt filter=old\n');
  p.write('one.txt', 'changed\n');
  assert.deepEqual(await differences(p), {
    files: 'unknown: settings of git on this machine change what it reads of one.txt (ralph-loop verify --tree HEAD)',
  });
  p.sh('rm .git/info/attributes; git checkout -q one.txt; echo 2 > inner/a.txt');
  assert.deepEqual(await differences(p), { files: 'the repository inner has changes that its commit does not hold' });
});

longTest('an ignored program of a check is missing in a clone, where verify names it', async (t) => {
  const { p } = complete(t, (own) => own.write('made.txt', 'not yet\n'));
  p.write('.ralph/fix/RALPH.md', TASK.replace('grep -q', './tool.tmp && grep -q'));
  p.write('.gitignore', `${p.read('.gitignore')}*.tmp\n`);
  p.write('tool.tmp', '#!/bin/sh\n', 0o755);
  p.write('made.txt', 'not yet\n');
  p.sh('git add -A && git -c user.name=t -c user.email=t@t commit -qm Again');
  assert.equal(p.ralph(['run', 'fix', '--plain', '--agent', './agent.sh']).code, 0);
  assert.deepEqual(await differences(p), {}, 'control');
  const { there, at } = cloned(t, p);
  const { checks, ...others } = await differences(there, '--proof', at);
  assert.match(checks ?? '', /^made cannot run: .*\.\/tool\.tmp/);
  assert.deepEqual(others, {}, 'only the result differs');
});

test('a record that names another loop, task or name does not pass for the one it is beside', async (t) => {
  const { p } = completed();
  const first = p.read(PROOF);
  p.write('.ralph/other/RALPH.md', TASK.replaceAll('made', 'more'));
  const command = agent(
    p,
    'echo done > more.txt; git add more.txt; git commit -qm More\necho "<promise>DONE</promise>"',
  );
  p.sh('git add -A && git commit -qm Task');
  assert.equal(p.ralph(['run', 'other', '--plain', '--agent', command]).code, 0);
  const other = JSON.parse(p.read('.ralph/other/proof.json')) as ReturnType<typeof record>;
  forge(p, { loopId: other.loopId, name: other.name });
  const named = await differences(p, '--proof', PROOF);
  assert.equal(named['record'], 'not the one that the loop wrote on this machine');
  assert.equal(named['contract'], 'not the contract of this loop');
  p.write(PROOF, first);
  forge(p, { task: other.task });
  assert.equal((await differences(p, '--proof', PROOF))['record'], 'not the one that the loop wrote on this machine');
  const { there, at } = cloned(t, p);
  assert.match(
    (await differences(there, '--proof', at))['contract'] ?? '',
    /^other checks than the loop ran: more, made$/,
  );
});
