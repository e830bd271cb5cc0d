import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { commitFolder, GIT_ENV, type Git, initRepository } from '../support/git.ts';
import type { Project } from '../support/project.ts';
import { longTest } from '../support/short-form.ts';
import { cloned, complete, completed, differences, PROOF, TASK } from './support/proved-loop.ts';

/** What `verify` says about the files. */
const filesLine = (p: Project): string => /^ *files +(.*)$/m.exec(p.ralph(['verify']).stdout)?.[1] ?? '';
const BY_COMMIT = '(ralph-loop verify --tree HEAD)';
const otherwise = (...names: string[]): string =>
  `unknown: settings of git on this machine change what it reads of ${names.join(', ')} ${BY_COMMIT}`;
const gone = (name: string): string =>
  `not there, although git takes them as unchanged: ${name} (git sparse-checkout disable, or ralph-loop verify --tree HEAD)`;

/** Sets git's own settings of the user. */
const forUser = (p: Project, key: string, value: string): void =>
  void spawnSync('git', ['config', '--file', join(p.home, '.gitconfig'), key, value], { env: GIT_ENV });

/** Files that git may read otherwise than they are. */
function odd(own: Project): void {
  own.write('.gitattributes', '*.dat filter=pin\n');
  own.write('a.dat', 'good\n');
  for (const name of ['one.txt', 'two.txt', 'three.txt']) own.write(name, '$Id$\n');
}

test('a program of the user for a filter of .gitattributes does not hide a change', async () => {
  const { p } = completed(odd);
  assert.deepEqual(await differences(p), {}, 'control: the filter has no program');
  forUser(p, 'filter.pin.clean', 'cat');
  assert.deepEqual(await differences(p), {}, 'control: its program changes nothing');
  forUser(p, 'filter.pin.clean', 'echo good');
  p.write('a.dat', 'bad\n');
  assert.deepEqual(await differences(p), { files: otherwise('a.dat') });
  assert.deepEqual(await differences(p, '--tree', 'HEAD'), {}, 'a commit is read without programs');
  p.write('.gitattributes', '*.dat filter=other\n');
  assert.match((await differences(p))['files'] ?? '', /^differ since the verdict: \.gitattributes, a\.dat$/);
});

test('attributes and ignored files of the user hide nothing', async () => {
  const { p } = completed(odd);
  p.write('../attributes', 'one.txt ident\n');
  forUser(p, 'core.attributesFile', join(p.dir, '../attributes'));
  p.write('one.txt', '$Id: changed $\n');
  assert.deepEqual(await differences(p), { files: otherwise('one.txt') });
  p.write('one.txt', '$Id$\n');
  p.write('../ignored', '*.local\n');
  forUser(p, 'core.excludesFile', join(p.dir, '../ignored'));
  p.write('a.local', 'x\n');
  p.write('cheat/.gitignore', '*\n');
  p.write('cheat/index.js', '\n');
  assert.match(filesLine(p), /^as they were at the verdict; not compared, as git ignores them: .*a\.local.*cheat\//);
});

test('attributes at the default place of the user, and ones that no commit holds, hide nothing', async (t) => {
  const { p } = complete(t, (own) => {
    own.write('src/one.txt', '$Id$\n');
    own.write('.gitattributes', '*.md text\n');
  });
  const changed = '$Id: changed $\n';
  p.write('src/one.txt', changed);
  assert.match((await differences(p))['files'] ?? '', /^differ since the verdict: src\/one\.txt$/, 'control');
  p.write('../config/git/attributes', 'one.txt ident\n');
  assert.deepEqual(await differences(p), { files: otherwise('src/one.txt') });
  p.sh('rm ../config/git/attributes');
  p.write('.git/info/exclude', 'src/.gitattributes\n');
  for (const attribute of ['ident', 'working-tree-encoding=UTF-7']) {
    p.write('src/.gitattributes', `one.txt ${attribute}\n`);
    p.write('src/one.txt', attribute === 'ident' ? changed : '+ACQ-Id+ACQ-\n');
    const files = `unknown: no commit holds what git reads the files by: src/.gitattributes ${BY_COMMIT}`;
    assert.deepEqual(await differences(p), { files });
  }
  p.sh('rm src/.gitattributes; git checkout -q src');
  p.write('.gitattributes', '*.md text\r\n');
  p.sh('git config core.autocrlf true');
  assert.deepEqual(await differences(p), {}, 'control: line ends');
});

longTest('a project whose path has a colon verifies', (t) => {
  const { p } = complete(t);
  p.sh('cp -r . ../a:b');
  const { code, stdout, stderr } = p.ralph(['verify', '--proof', PROOF, '--project', '.'], {}, join(p.dir, '../a:b'));
  assert.equal(code, 0, stdout + stderr);
});

test('a large file is what its pointer names, whatever program git has for it', async (t) => {
  const content = 'a large file\n';
  const oid = createHash('sha256').update(content).digest('hex');
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${content.length}\n`;
  const { p } = complete(t, (own) => {
    own.write('.gitattributes', '*.bin filter=lfs\n');
    own.write('../pointer', pointer);
    own.write('../clean', `#!/bin/sh\ncat > /dev/null\ncat ${join(own.dir, '../pointer')}\n`, 0o755);
    forUser(own, 'filter.lfs.clean', join(own.dir, '../clean'));
    spawnSync('git', ['config', '--file', join(own.home, '.gitconfig'), 'user.name', 't']);
    // Committed without the program, which git asks again or not by the second in which it wrote the index.
    own.write('a.bin', pointer);
  });
  p.sh('git config filter.lfs.clean ../clean');
  p.write('a.bin', content);
  assert.equal(p.sh('git ls-files a.bin').stdout.trim(), 'a.bin');
  assert.deepEqual(await differences(p), {}, 'control');
  p.write('a.bin', 'another file\n');
  assert.deepEqual(await differences(p), { files: otherwise('a.bin') });
  p.sh('git config core.fileMode false; chmod +x a.bin');
  p.write('a.bin', content);
  assert.deepEqual(await differences(p), { files: otherwise('a.bin') }, 'another mode');
  p.sh('chmod -x a.bin');
  p.write('a.bin', pointer);
  assert.deepEqual(await differences(p), {}, 'a pointer whose file was not fetched');
});

test('a repository without a commit, a file that git cannot read and one that is not there are named', async () => {
  const { p, git } = completed(odd);
  initRepository(join(p.dir, 'inner'));
  p.write('inner/a.txt', 'x\n');
  assert.deepEqual(await differences(p), {
    files: 'the repository inner has no commit, so git knows none of its files',
  });
  p.sh('rm -r inner; rm one.txt; mkfifo one.txt');
  assert.match((await differences(p))['files'] ?? '', /one\.txt/);
  p.sh('rm one.txt; git checkout -q one.txt');
  git('update-index', '--skip-worktree', 'two.txt');
  p.sh('rm two.txt');
  assert.deepEqual(await differences(p), { files: gone('two.txt') });
  p.sh('git update-index --no-skip-worktree two.txt; git checkout -q two.txt');
  git('config', 'core.ignoreCase', 'true');
  p.sh('mv three.txt THREE.txt');
  assert.match((await differences(p))['files'] ?? '', /three\.txt/i);
});

longTest(
  'a sparse checkout is told from a whole one, which verifies in a worktree and with a detached HEAD',
  async (t) => {
    const { p, git } = complete(t, (own) => own.write('docs/one.txt', 'one\n'));
    const { there, at } = cloned(t, p);
    spawnSync('git', ['sparse-checkout', 'set', '--no-cone', '/*', '!/docs/'], {
      cwd: join(there.dir, 'clone'),
      env: GIT_ENV,
    });
    assert.equal(there.has('clone/docs/one.txt'), false, 'control');
    assert.deepEqual(await differences(there, '--proof', at), {
      files: gone('docs/one.txt'),
    });
    git('worktree', 'add', '-q', '--detach', '../other');
    p.write('../other/.ralph/fix/proof.json', p.read(PROOF));
    const { code, stdout, stderr } = p.ralph(
      ['verify', '--proof', PROOF, '--project', '.'],
      {},
      join(p.dir, '../other'),
    );
    assert.equal(code, 0, stdout + stderr);
  },
);

test('checks that put back what was changed before they ran prove nothing', async () => {
  const { p } = completed(odd);
  p.write(
    '.ralph/fix/RALPH.md',
    TASK.replace('grep -q', 'sh tool.tmp && grep -q').replace('validation', 'may_change: [tool.tmp]\nvalidation'),
  );
  p.write('.gitignore', `${p.read('.gitignore')}*.tmp\n`);
  p.write('tool.tmp', 'true\n');
  p.write('made.txt', 'not yet\n');
  p.sh('git add -A && git -c user.name=t -c user.email=t@t commit -qm Again');
  assert.equal(p.ralph(['run', 'fix', '--plain', '--agent', './agent.sh']).code, 0);
  p.write('tool.tmp', 'git checkout -q one.txt\n');
  assert.deepEqual(await differences(p), {}, 'control');
  p.write('one.txt', 'changed\n');
  assert.deepEqual(await differences(p), { files: 'changed until the checks ran: one.txt' });
  assert.equal(p.read('one.txt'), '$Id$\n');
});

test('a proof that lies beside another task is not one of that task', async (t) => {
  const { p, git } = completed();
  p.write('.ralph/other/RALPH.md', TASK);
  git('add', '.ralph/other');
  git('commit', '-qm', 'Another task');
  p.write('.ralph/other/proof.json', p.read(PROOF));
  const { there } = cloned(t, p);
  there.write('clone/.ralph/other/proof.json', p.read(PROOF));
  const record = 'of .ralph/fix/RALPH.md, although it is beside .ralph/other/RALPH.md';
  for (const [from, at] of [
    [p, ''],
    [there, 'clone/'],
  ] as const)
    assert.equal((await differences(from, '--proof', `${at}.ralph/other/proof.json`))['record'], record);
  assert.equal((await differences(there, '--proof', `clone/${PROOF}`))['record'], undefined, 'control');
});

test('a folder of loops that leads elsewhere is another file than at the verdict', async () => {
  const { p } = completed();
  p.sh('cp -r .ralph ../elsewhere; rm -r .ralph; ln -s ../elsewhere .ralph');
  const { code, stdout, stderr } = await commandHere(p, ['verify', '--proof', PROOF]);
  assert.equal(code, 1, stdout + stderr);
});

test('what a repository within the project ignores is named, and the answer in JSON has all of it', async (t) => {
  const { p } = complete(t, (own) => {
    initRepository(join(own.dir, 'inner'));
    own.sh('cd inner && echo 1 > a.txt && git add -A && git -c user.name=t -c user.email=t@t commit -qm Inner');
  });
  assert.doesNotMatch(filesLine(p), /inner/, 'control');
  p.write('inner/.git/info/exclude', '*.evil\n');
  const names = ['1', '2', '3', '4', '5', '6'].map((each) => `inner/${each}.evil`);
  for (const name of names) p.write(name, 'x\n');
  assert.match(filesLine(p), /^as they were at the verdict; not compared, as git ignores them: .*inner\/1\.evil/);
  const findings = (await commandHere(p, ['verify', '--json'])).json['findings'] as {
    what: string;
    ignored?: string[];
  }[];
  const ignored = findings.find(({ what }) => what === 'files')?.ignored ?? [];
  assert.deepEqual(
    ignored.filter((name) => name.startsWith('inner/')),
    names,
  );
});

test('verify removes what a killed one left in the git folder, and only that', async () => {
  const { p } = completed();
  const dead = spawnSync('true').pid.toString(36);
  const [left, rules, young, running, other] = [
    `ralph-plain-${dead}-1-123456789`,
    `ralph-rules-${dead}-1-123456789`,
    `ralph-index-${dead}-2-123456789`,
    `ralph-index-${process.pid.toString(36)}-1-123456789`,
    `ralph-index-mine`,
  ];
  for (const name of [left, rules, young, running, other]) p.write(`.git/${name}/index`, '');
  p.sh(`cd .git && touch -d 2020-01-01 ${left} ${rules} ${running} ${other}`);
  assert.deepEqual(await differences(p), {});
  const there = p.sh('cd .git && ls -d ralph-*').stdout.trim().split('\n');
  assert.deepEqual(there.toSorted(), [young, running, other].toSorted());
});

/** The proved project without its repository, in the folder `sub` of another one. */
function beneath(p: Project): { readonly sub: Project; readonly git: Git; readonly around: string } {
  p.sh('rm -rf .git; mkdir ../around; cp -r . ../around/sub');
  const around = join(p.dir, '../around');
  p.write('../around/beside.txt', 'one\n');
  const sub = {
    ...p,
    place: '../around/sub',
    ralph: (words: readonly string[]) => p.ralph(words, {}, join(around, 'sub')),
  };
  return { sub, around, git: commitFolder(around) };
}

test('attributes above a project in a folder of a repository hide nothing until they are committed', async () => {
  const { p } = completed();
  const { sub, git } = beneath(p);
  const words = ['--proof', PROOF, '--project', '.'];
  assert.deepEqual(await differences(sub, ...words), {}, 'control');
  p.write('../around/.gitattributes', '*.txt ident\n');
  const files = `unknown: no commit holds what git reads the files by: .gitattributes ${BY_COMMIT}`;
  assert.deepEqual(await differences(sub, ...words), { files });
  git('add', '--all');
  assert.deepEqual(await differences(sub, ...words), { files }, 'in the index only');
  git('commit', '-qm', 'Attributes');
  assert.deepEqual(await differences(sub, ...words), {});
});

longTest('conflicts beside the project and a work tree elsewhere are said in one sentence', (t) => {
  const { p } = complete(t);
  const { sub, git, around } = beneath(p);
  const refusal = (): string => {
    const { code, stderr } = sub.ralph(['verify', '--proof', PROOF, '--project', '.']);
    assert.notEqual(code, 0);
    assert.equal(stderr.trim().split('\n').length, 1, stderr);
    return stderr;
  };
  git('checkout', '-q', '-b', 'other');
  p.write('../around/beside.txt', 'two\n');
  git('commit', '-qam', 'Two');
  git('checkout', '-q', 'main');
  p.write('../around/beside.txt', 'three\n');
  git('commit', '-qam', 'Three');
  assert.throws(() => git('merge', '-q', 'other'));
  assert.match(refusal(), /git refuses \(git status says more\): beside\.txt: unmerged/);
  git('merge', '--abort');
  git('config', 'core.worktree', join(around, '../home'));
  assert.match(
    refusal(),
    /git looks for the files of .*sub in .*home\. Put that right: git config --unset core\.worktree/,
  );
});
