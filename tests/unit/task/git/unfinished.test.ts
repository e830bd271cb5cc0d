import { unfinishedIn, unfinishedText } from '../../../../src/task/git/read-repository.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { commitFolder, GIT_ENV } from '../../../support/git.ts';
import { someOf } from '../../../support/short-form.ts';
import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { execSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const BEGINS = {
  merge: 'git merge side',
  'cherry-pick': 'git cherry-pick side',
  revert: 'git revert --no-edit HEAD~1',
  rebase: 'git rebase side',
  'rebase with patches': 'git rebase --apply side',
  am: 'git format-patch --stdout side~1..side > ../one.patch; git am -3 ../one.patch',
};

for (const [what, begins] of someOf(Object.entries(BEGINS), 4)) {
  test(`an unfinished ${what} is named with the command that ends it`, (t) => {
    const dir = emptyFolder(t);
    const git = commitFolder(dir);
    const run = (command: string): void => {
      try {
        execSync(command, { cwd: dir, env: GIT_ENV, stdio: 'pipe' });
      } catch {
        // It ends with a conflict.
      }
    };
    const commit = (text: string): void => {
      writeFileSync(join(dir, 'same.txt'), text);
      git('add', '-A');
      git('commit', '-qm', text);
    };
    commit('one');
    git('switch', '-qc', 'side');
    commit('side');
    git('switch', '-q', 'main');
    commit('two');
    commit('three');
    const gitDir = join(dir, '.git');
    assert.equal(unfinishedText(gitDir), null, 'control');
    run(begins);
    const command = what.split(' ')[0] ?? '';
    assert.equal(unfinishedIn(gitDir)?.command, command);
    const text = unfinishedText(gitDir) ?? '';
    const [, ends = ''] = / (git [^,]+)\.$/.exec(text) ?? [];
    assert.match(ends, new RegExp(`^git ${command} --abort$`), text);
    git(...ends.split(' ').slice(1));
    assert.equal(unfinishedText(gitDir), null);
    assert.equal(git('symbolic-ref', '--short', 'HEAD'), 'main\n');
  });
}
