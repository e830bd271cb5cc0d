import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { watchFingerprint } from '../../../src/task/watch-fingerprint.ts';
import { project, writeFiles } from './support/project.ts';

const TASK = '.claude/ralph/PROMPT.md';

/** Whether the fingerprint differs after the change. */
function notices(
  context: TestContext,
  globs: readonly string[],
  files: Record<string, string>,
  change: (directory: string) => void,
): boolean {
  const directory = project(context, { [TASK]: 'x', ...files });
  const before = watchFingerprint(directory, globs, TASK);
  assert.equal(watchFingerprint(directory, globs, TASK), before, 'the same project has the same fingerprint');
  change(directory);
  return watchFingerprint(directory, globs, TASK) !== before;
}

test('a new file, a changed one and a removed one are noticed', (context) => {
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

test('the task file is always watched', (context) => {
  assert.equal(
    notices(context, [], {}, (d) => writeFiles(d, { [TASK]: 'changed' })),
    true,
  );
  assert.equal(
    notices(context, [], {}, (d) => rmSync(join(d, TASK))),
    true,
  );
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
  test(`${folder} is not looked into by a wildcard`, (context) => {
    assert.equal(
      notices(context, ['**'], {}, (d) => writeFiles(d, { [`${folder}/x/y.md`]: 'x', [`${folder}/z.md`]: 'x' })),
      false,
    );
  });
}

test('a folder that a glob names literally is looked into, whatever it is called', (context) => {
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

test('a single file may be watched before it is there', (context) => {
  assert.equal(
    notices(context, ['TODO.md'], {}, (d) => writeFiles(d, { 'TODO.md': 'x' })),
    true,
  );
});

test('what lies outside the project is never looked at', (context) => {
  const outside = project(context, { 'a.md': 'x' });
  const globs = ['../**', `${outside}/**`, 'link/**', 'link/a.md', '**'];
  const changed = notices(context, globs, {}, (d) => {
    assert.ok(d !== outside);
  });
  assert.equal(changed, false);
  const directory = project(context, { [TASK]: 'x' });
  symlinkSync(outside, join(directory, 'link'));
  symlinkSync(join(outside, 'a.md'), join(directory, 'file.md'));
  symlinkSync('.', join(directory, 'circle'));
  symlinkSync('gone', join(directory, 'dangling'));
  const before = watchFingerprint(directory, globs, TASK);
  writeFiles(outside, { 'a.md': 'changed', 'b.md': 'new' });
  assert.equal(watchFingerprint(directory, globs, TASK), before);
});

test('a symlink to a file of the project is followed', (context) => {
  const directory = project(context, { [TASK]: 'x', 'dist/real.md': 'x' });
  symlinkSync('dist/real.md', join(directory, 'link.md'));
  const before = watchFingerprint(directory, ['*.md'], TASK);
  writeFiles(directory, { 'dist/real.md': 'changed' });
  assert.notEqual(watchFingerprint(directory, ['*.md'], TASK), before);
});

test('a tree of more than 20,000 files has a fingerprint all the same', (context) => {
  const directory = project(context, { [TASK]: 'x' });
  for (let folder = 0; folder < 21; folder++) {
    mkdirSync(join(directory, `many/${folder}`), { recursive: true });
    for (let file = 0; file < 1000; file++) writeFileSync(join(directory, `many/${folder}/${file}`), '');
  }
  const before = watchFingerprint(directory, ['many/**'], TASK);
  assert.equal(watchFingerprint(directory, ['many/**'], TASK), before);
  writeFiles(directory, { 'many/0/5': 'changed' });
  assert.notEqual(watchFingerprint(directory, ['many/**'], TASK), before);
});

test('a project that is gone has a fingerprint too', (context) => {
  watchFingerprint(join(project(context), 'gone'), ['**'], TASK);
});
