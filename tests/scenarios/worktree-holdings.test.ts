import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { someOf } from '../support/short-form.ts';
import { repository, run, tree } from './support/in-worktree.ts';
import { git } from './support/side-by-side.ts';

const AWAY: readonly (readonly [string, string, RegExp, RegExp])[] = [
  [
    'a detached HEAD',
    'git checkout -q --detach; echo lost > lost; git add lost; git commit -qm lost',
    /nothing is committed on the branch ralph\/fix\..* 1 commit that no branch has \(to keep: git branch NAME [0-9a-f]{12}\)\. The agent left ralph\/fix: the worktree is on no branch/,
    /1 commit that no branch has/,
  ],
  [
    'a detached HEAD that it left again',
    'git checkout -q --detach; git commit -q --allow-empty -m lost; git checkout -q ralph/fix',
    /nothing is committed on the branch ralph\/fix\..* 1 commit that no branch has/,
    /1 commit that no branch has/,
  ],
  [
    'another branch, which it deleted',
    'git checkout -q -b own; git commit -q --allow-empty -m lost; git checkout -q ralph/fix; git branch -qD own',
    /nothing is committed on the branch ralph\/fix\..* 1 commit that no branch has/,
    /1 commit that no branch has/,
  ],
];

for (const [where, work, says, loses] of someOf(AWAY, 3)) {
  test(`work on ${where} is not said to be on the branch, and not lost`, (t) => {
    const p = repository(t);
    p.write('do.sh', `rm prompt.txt; ${work}; echo "<promise>DONE</promise>"\n`);
    git(p, 'commit -qam away');
    const { code, stderr } = run(p);
    assert.equal(code, 0, stderr);
    assert.match(stderr, says);
    assert.doesNotMatch(stderr, /the work is on the branch|git merge ralph\/fix/);
    const refused = p.ralph(['worktree', 'remove', 'fix']);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, loses);
  });
}

test('a worktree with signed commits is removed, whatever git shows of signatures', (t) => {
  const p = repository(t);
  const signs = '#!/bin/sh\ncat > /dev/null\necho "[GNUPG:] SIG_CREATED " >&2\necho "-----BEGIN PGP SIGNATURE-----"\n';
  p.write('gpg', signs);
  p.write('do.sh', 'rm prompt.txt; git checkout -q -b own; git checkout -q -; echo "<promise>DONE</promise>"\n');
  p.sh('chmod +x gpg; git config gpg.program "$PWD/gpg"; git config log.showSignature true');
  git(p, 'add -A');
  git(p, 'commit -q -S -m signed');
  assert.match(git(p, 'log -1'), /SIG_CREATED/, 'control: git shows them');
  assert.equal(run(p).code, 0);
  const { code, stderr } = p.ralph(['worktree', 'remove', 'fix']);
  assert.equal(code, 0, stderr);
});

/** What a user does in a worktree, and takes back: [what, change, way back, what a removal would lose]. */
const OWN: readonly (readonly [string, string, string, RegExp])[] = [
  [
    'a file that git was told not to look at, edited',
    'git update-index --skip-worktree src/a.txt; echo mine >> src/a.txt',
    'echo one > src/a.txt',
    /1 file that is not committed \(src\/a\.txt\)/,
  ],
  ['a file that may be run now', 'chmod +x do.sh', 'chmod -x do.sh', /1 file that is not committed \(do\.sh\)/],
  ['a lock', 'git worktree lock .', 'git worktree unlock .', /what its lock protects \(git worktree lock\)/],
  [
    'a lost link to the repository',
    'mv .git ../link; echo mine > mine.txt',
    'mv ../link .git; rm mine.txt',
    /1 file that is not committed \(mine\.txt\)/,
  ],
];

test('a worktree with something of its user is not removed without a yes; control: without it, it is', (t) => {
  const p = repository(t);
  p.write('do.sh', 'rm prompt.txt; echo "<promise>DONE</promise>"\n');
  git(p, 'commit -qam nothing');
  assert.equal(run(p).code, 0);
  for (const [what, change, back, loses] of OWN) {
    p.sh(`cd .ralph/worktrees/fix; ${change}`);
    const { code, stderr } = p.ralph(['worktree', 'remove', 'fix']);
    assert.equal(code, 1, what);
    assert.match(stderr, loses);
    assert.ok(existsSync(tree(p, 'src/a.txt')));
    p.sh(`cd .ralph/worktrees/fix; ${back}`);
  }
  assert.equal(p.ralph(['worktree', 'remove', 'fix']).code, 0);
  assert.equal(existsSync(tree(p)), false);
  for (const words of [
    ['explain', 'fix'],
    ['logs', 'jobs/fix'],
    ['report', 'fix'],
  ]) {
    const kept = /the loop fix was removed; its journals remain\. Read them: .* report --project (\S+)\.$/m;
    const [, folder = ''] = kept.exec(p.ralph(words).stderr) ?? [];
    assert.match(p.ralph(['explain', '--project', folder]).stdout, /^Loop fix: complete/, words[0]);
  }
  assert.match(p.ralph(['explain', 'other']).stderr, /no loop has worked on other\./, 'control');
});

test('the loop’s own files in a folder of the repository are none of its user, also without .git', (t) => {
  const p = repository(t);
  p.write('do.sh', 'rm prompt.txt; echo "<promise>DONE</promise>"\n');
  p.sh('mkdir app; mv jobs agent.sh do.sh app');
  git(p, 'add -A');
  git(p, 'commit -qm app');
  const inApp = (...words: string[]) => p.ralph(words, {}, join(p.dir, 'app'));
  assert.equal(inApp('run', 'jobs/fix', '--worktree', '--agent', './agent.sh').code, 0);
  p.sh('cd app/.ralph/worktrees/fix; rm .git; echo mine > mine.txt');
  assert.match(inApp('worktree', 'remove', 'fix').stderr, /would lose: 1 file that is not committed \(mine\.txt\)/);
  p.sh('rm app/.ralph/worktrees/fix/mine.txt');
  const { code, stderr } = inApp('worktree', 'remove', 'fix');
  assert.equal(code, 0, stderr);
});

test('another branch of the agent is named and outlives its worktree, as does its stash', (t) => {
  const p = repository(t);
  const stashes = 'rm prompt.txt; echo more >> src/a.txt; git stash -q';
  const leaves = 'git checkout -qb own; git commit -q --allow-empty -m own; echo "<promise>DONE</promise>"';
  p.write('do.sh', `${stashes}; ${leaves}\n`);
  git(p, 'commit -qam away');
  const { stderr } = run(p);
  assert.match(
    stderr,
    /holds: the branch own \(1 commit\)\. The agent left ralph\/fix: the worktree is on the branch own\./,
  );
  assert.equal(p.ralph(['worktree', 'remove', 'fix']).code, 0);
  assert.equal(existsSync(tree(p)), false);
  git(p, 'gc -q --prune=now');
  assert.equal(git(p, 'log --format=%s -1 own'), 'own');
  assert.match(git(p, 'stash show -p'), /^\+more$/m);
});

test('commits that were amended or reset away are given up, not lost', (t) => {
  const p = repository(t);
  const work =
    'git commit -q --allow-empty -m one; git commit -q --amend -m two --allow-empty; git reset -q --hard HEAD~1';
  p.write('do.sh', `rm prompt.txt; ${work}; echo "<promise>DONE</promise>"\n`);
  git(p, 'commit -qam reset');
  assert.match(run(p).stderr, /nothing is committed on the branch ralph\/fix, and .* holds no other work/);
  assert.equal(p.ralph(['worktree', 'remove', 'fix']).code, 0);
});

test('ignored files are work unless they are caches, copies, or made by the set-up', (t) => {
  const p = repository(t);
  const ignored = 'out/\nnode_modules/\n.env\ngen/\n*.pyc\ntarget/\n';
  p.write('.gitignore', ignored);
  p.write('.claude/ralph/config.json', { worktree_copy: ['.env'] });
  p.write(
    'do.sh',
    `rm prompt.txt; mkdir -p out node_modules/x target; echo 1 > node_modules/x/y; echo 1 > a.pyc; touch target/CACHEDIR.TAG target/x
[ -n "$1" ] || [ ! -e ../../../work ] || { echo 1 > out/A.csv; echo 2 >> gen/made; echo changed >> .env; }
echo "<promise>DONE</promise>"\n`,
  );
  git(p, 'add -A');
  git(p, 'commit -qm ignore');
  p.write('.env', 'A=1\n');
  const setUp = ['--worktree-setup', 'mkdir gen && echo 1 > gen/made && echo 1 > gen/other'];
  assert.match(run(p, setUp).stderr, /holds no other work/);
  assert.equal(p.ralph(['worktree', 'remove', 'fix']).code, 0);
  p.write('work', '');
  assert.match(run(p, setUp).stderr, /3 files that git ignores \(\.env, gen\/made, out\/A\.csv\)/);
  assert.equal(p.ralph(['worktree', 'remove', 'fix']).code, 1);
});

test('a worktree that was removed by hand is made anew at the first try', (t) => {
  const p = repository(t);
  p.write('do.sh', 'rm prompt.txt; echo "<promise>DONE</promise>"\n');
  git(p, 'commit -qam lazy');
  git(p, 'worktree add -q ../mine -b mine');
  p.sh('mv ../mine ../mine.away');
  assert.equal(run(p).code, 0);
  p.sh('rm -rf .ralph/worktrees/fix');
  const again = run(p);
  assert.equal(again.code, 0, again.stderr);
  assert.ok(existsSync(tree(p, 'src/a.txt')));
  assert.match(git(p, 'worktree list'), /\/mine /, 'a worktree of the user that is away for a while stays registered');
  git(p, '-C .ralph/worktrees/fix checkout -q --detach');
  git(p, '-C .ralph/worktrees/fix commit -q --allow-empty -m lost');
  const lost = git(p, '-C .ralph/worktrees/fix rev-parse HEAD');
  p.sh('rm -rf .ralph/worktrees/fix');
  const refused = run(p);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, new RegExp(`was removed by hand.*git branch NAME ${lost.slice(0, 12)}`));
  git(p, `branch kept ${lost.slice(0, 12)}`);
  assert.equal(run(p).code, 0);
});
