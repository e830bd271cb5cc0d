import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CONVENTIONAL_FORM,
  commitFormProblem,
  commitSubject,
  PLAIN_FORM,
} from '../../../src/engine/plan/commit-subject.ts';

const subject = (form: string, title: string, id = 'Task 1'): string => commitSubject(form, { id, title }, 'my-plan');

/** [title, its commit after a conventional prefix]. */
const TITLES: readonly (readonly [string, string])[] = [
  ['Add an index', 'feat: add an index'],
  ['Fix the flaky login test.', 'fix: fix the flaky login test'],
  ['README: say how to install', 'docs: readme: say how to install'],
  ['Refactor API calls', 'refactor: refactor API calls'],
  ['Write integration tests', 'test: write integration tests'],
  ['fix(auth): Reject empty tokens', 'fix: reject empty tokens'],
  ['Überschrift ändern', 'feat: Überschrift ändern'],
  ['添加索引', 'feat: 添加索引'],
];

for (const [title, wanted] of TITLES) {
  test(`the title "${title}" becomes "${wanted}"`, () => assert.equal(subject(CONVENTIONAL_FORM, title), wanted));
}

test('a conventional header has at most 100 characters and ends with a whole word', () => {
  const long = subject(CONVENTIONAL_FORM, `Add ${'very '.repeat(40)}long words`);
  assert.ok(long.length <= 100 && long.endsWith(' very'), long);
  const word = subject(CONVENTIONAL_FORM, `Add${'x'.repeat(200)}`);
  assert.ok(word.length <= 100 && word.startsWith('feat:'), word);
});

test('a header is cut after 100 characters, at a word behind its middle and without marks before the cut', () => {
  const header = (...words: string[]): string => subject(CONVENTIONAL_FORM, ['Add', ...words].join(' '));
  const [x, y] = [(count: number) => 'x'.repeat(count), 'y'.repeat(60)];
  assert.equal(header(x(90)), `feat: add ${x(90)}`);
  assert.equal(header(x(91)), `feat: add ${x(90)}`);
  assert.equal(header(x(40), y), `feat: add ${x(40)} ${y.slice(0, 49)}`);
  assert.equal(header(x(41), y), `feat: add ${x(41)}`);
  assert.equal(header(`${x(41)}.,:`, y), `feat: add ${x(41)}`);
  assert.equal(subject('{id} {title}', `Add ${x(200)}`), `Task 1 Add ${x(200)}`, 'no other form is cut');
});

test('a subject is one line without doubled blanks, and a name that the form does not know stays', () => {
  assert.equal(subject('  {id}   {title}\t', 'Add\n  it'), 'Task 1 Add it');
  assert.equal(subject('{other} {title}', 'Add it'), '{other} Add it');
});

test('the form of the source stays as it is, and other forms take all four values', () => {
  assert.equal(subject(PLAIN_FORM, 'Add an index.'), 'feat: Task 1 - Add an index.');
  assert.equal(subject('[{plan}] {id}: {title}', 'Add it'), '[my-plan] Task 1: Add it');
  assert.equal(subject('{type}({id}): {title}', 'Add it'), 'feat(task-1): add it');
  assert.equal(subject('chore({plan}): {title}', 'Add it'), 'chore(my-plan): add it');
  assert.equal(subject('JIRA-1 {title}', 'Say {id} and $& twice'), 'JIRA-1 Say {id} and $& twice');
});

test('a form without title and id, or with an unknown name, is refused', () => {
  const apart = 'must have {title} or {id}, which tell the commits apart';
  assert.equal(commitFormProblem('done'), apart);
  assert.equal(commitFormProblem('{plan} {type}'), apart);
  assert.equal(commitFormProblem('{type}: {titel}'), 'has no {titel}; use {type}, {title}, {id} and {plan}');
  assert.equal(commitFormProblem('{type}: {id}'), null);
});
