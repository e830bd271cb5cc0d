import assert from 'node:assert/strict';
import { rmSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { watchFingerprint } from '../../../src/task/progress/fingerprint.ts';
import { folderWith, writeFiles } from '../../support/folder.ts';

const TASK = '.claude/ralph/PROMPT.md';

/** Whether the fingerprint differs after the change. */
function notices(
  context: TestContext,
  globs: readonly string[],
  files: Record<string, string>,
  change: (directory: string) => void,
): boolean {
  const directory = folderWith(context, { [TASK]: 'x', ...files });
  const before = watchFingerprint(directory, globs, TASK);
  assert.equal(watchFingerprint(directory, globs, TASK), before, 'the same project has the same fingerprint');
  change(directory);
  return watchFingerprint(directory, globs, TASK) !== before;
}

test('notices new, changed and removed files', (context) => {
  const files = { 'inbox/a.md': 'a', 'other.md': 'o' };
  const watch = ['inbox/**'];
  assert.equal(
    notices(context, watch, files, (d) => writeFiles(d, { 'inbox/deep/b.md': 'b' })),
    true,
  );
  assert.equal(
    notices(context, watch, files, (d) => writeFiles(d, { 'inbox/a.md': 'longer' })),
    true,
  );
  assert.equal(
    notices(context, watch, files, (d) => utimesSync(join(d, 'inbox/a.md'), 1, 1)),
    true,
  );
  assert.equal(
    notices(context, watch, files, (d) => rmSync(join(d, 'inbox/a.md'))),
    true,
  );
  assert.equal(
    notices(context, watch, files, (d) => writeFiles(d, { 'other.md': 'changed' })),
    false,
    'control: not watched',
  );
});

test('always watches the task file', (context) => {
  assert.equal(
    notices(context, [], {}, (d) => writeFiles(d, { [TASK]: 'changed' })),
    true,
  );
  assert.equal(
    notices(context, [], {}, (d) => rmSync(join(d, TASK))),
    true,
  );
});

test('without a task file the project directory itself does not count', (context) => {
  const directory = folderWith(context, { 'a.md': 'x' });
  const before = watchFingerprint(directory, ['**'], '');
  writeFiles(directory, { 'node_modules/x.js': '' });
  assert.equal(watchFingerprint(directory, ['**'], ''), before);
});

test('dot files match', (context) => {
  assert.equal(
    notices(context, ['**/*.env'], {}, (d) => writeFiles(d, { '.config/.env': 'x' })),
    true,
  );
});

for (const folder of [
  '.git',
  'node_modules',
  'dist',
  'build',
  'coverage',
  '.next',
  '.turbo',
  '.cache',
  '.claude/context/runtime',
]) {
  test(`a wildcard does not enter ${folder}`, (context) => {
    assert.equal(
      notices(context, ['**'], {}, (d) => writeFiles(d, { [`${folder}/x/y.md`]: 'x', [`${folder}/z.md`]: 'x' })),
      false,
    );
  });
}

test('enters a folder that a glob names literally, whatever its name', (context) => {
  assert.equal(
    notices(context, ['**', 'dist/report.json'], {}, (d) => writeFiles(d, { 'dist/report.json': 'x' })),
    true,
  );
  assert.equal(
    notices(context, ['build/**/*.txt'], {}, (d) => writeFiles(d, { 'build/a/b.txt': 'x' })),
    true,
  );
  assert.equal(
    notices(context, ['./inbox'], {}, (d) => writeFiles(d, { 'inbox/a/b.txt': 'x' })),
    true,
  );
});

test('a single file may be watched before it exists', (context) => {
  assert.equal(
    notices(context, ['TODO.md'], {}, (d) => writeFiles(d, { 'TODO.md': 'x' })),
    true,
  );
});

test('never looks outside the project', (context) => {
  const outside = folderWith(context, { 'a.md': 'x' });
  const globs = ['../**', `${outside}/**`, 'link/**', 'link/a.md', '**'];
  const changed = notices(context, globs, {}, (d) => {
    assert.ok(d !== outside);
  });
  assert.equal(changed, false);
  const directory = folderWith(context, { [TASK]: 'x' });
  symlinkSync(outside, join(directory, 'link'));
  symlinkSync(join(outside, 'a.md'), join(directory, 'file.md'));
  symlinkSync('.', join(directory, 'circle'));
  symlinkSync('gone', join(directory, 'dangling'));
  const before = watchFingerprint(directory, globs, TASK);
  writeFiles(outside, { 'a.md': 'changed', 'b.md': 'new' });
  assert.equal(watchFingerprint(directory, globs, TASK), before);
});

test('follows a symlink to a file of the project', (context) => {
  const directory = folderWith(context, { [TASK]: 'x', 'dist/real.md': 'x' });
  symlinkSync('dist/real.md', join(directory, 'link.md'));
  const before = watchFingerprint(directory, ['*.md'], TASK);
  writeFiles(directory, { 'dist/real.md': 'changed' });
  assert.notEqual(watchFingerprint(directory, ['*.md'], TASK), before);
});

test('the fingerprint of a tree over the limit covers its first part', (context) => {
  const files = Object.fromEntries([...Array(30).keys()].map((file) => [`many/${file % 3}/${file}.md`, '']));
  const directory = folderWith(context, { [TASK]: 'x', ...files });
  const seen = () => watchFingerprint(directory, ['many/**'], TASK, 15);
  const before = seen();
  assert.notEqual(before, watchFingerprint(directory, ['many/**'], TASK), 'control: without the limit it is another');
  writeFiles(directory, { 'many/2/29.md': 'beyond the limit' });
  assert.equal(seen(), before);
  writeFiles(directory, { 'many/0/0.md': 'changed' });
  assert.notEqual(seen(), before);
});

test('a missing project has a fingerprint too', (context) => {
  const gone = join(folderWith(context), 'gone');
  const fingerprint = watchFingerprint(gone, ['**'], TASK);
  assert.notEqual(fingerprint, '');
  assert.equal(watchFingerprint(gone, ['**'], TASK), fingerprint);
});

test('an empty glob means the project, and an endless one nothing', (context) => {
  const directory = folderWith(context, { [TASK]: 'x', 'src/a.md': 'x' });
  const endless = 'a'.repeat(70_000);
  for (const glob of ['', './', '././']) {
    writeFiles(directory, { 'src/a.md': 'x' });
    const before = watchFingerprint(directory, [glob], TASK);
    writeFiles(directory, { 'src/a.md': 'changed' });
    assert.notEqual(watchFingerprint(directory, [glob], TASK), before, JSON.stringify(glob));
  }
  assert.equal(watchFingerprint(directory, [endless], TASK), watchFingerprint(directory, [], TASK));
});
