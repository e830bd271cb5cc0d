import assert from 'node:assert/strict';
import { test } from 'node:test';
import { taskTitle } from '../../../src/task/task-title.ts';

const SECRET = `ghp_${'aB3d'.repeat(9)}`;

test('a title masks secrets, also one at the place where it is cut', () => {
  assert.equal(taskTitle(`Push with ${SECRET}.\n`), 'Push with ***.');
  assert.equal(taskTitle(`# Use ${SECRET} there\n\nWork.\n`), 'Use *** there');
  const long = taskTitle(`${'word '.repeat(14)}${SECRET} and more words until it is cut\n`);
  assert.match(long, /word \*\*\*.*…$/);
  assert.doesNotMatch(long, /ghp_/);
});

test('control: a title without a secret is as it was written', () => {
  assert.equal(taskTitle('# Rename ghp to gh\n'), 'Rename ghp to gh');
});

test('the first box of a list is no title, whatever begins its line', () => {
  for (const mark of ['-', '*', '+', '1.', '2)']) assert.equal(taskTitle(`${mark} [ ] **Task 1: Make a**\n`), '', mark);
  assert.equal(taskTitle('2026. A year of work\n'), '2026. A year of work', 'control');
});

test('a heading beside others of its level names a part, so the first line of text is the title', () => {
  const checklist = (goal: string): string =>
    `# Goals\n\n<!-- What is to be\nachieved. -->\n${goal}\n# Checklist\n\n- [ ] a\n`;
  assert.equal(taskTitle(checklist('\nAll unit tests pass.\n')), 'All unit tests pass.');
  assert.equal(taskTitle(checklist('')), 'Goals', 'nothing but a list says what it is about');
  assert.equal(taskTitle('# Numbers\n\nAll of them.\n\n## One\n\n## Two\n'), 'Numbers', 'control: parts below it');
});
