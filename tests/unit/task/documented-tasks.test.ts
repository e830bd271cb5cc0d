import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isOpen, readFindings } from '../../../src/engine/findings/read-findings.ts';
import { parseSigns } from '../../../src/engine/prompt/signs.ts';
import { checkTaskFile } from '../../../src/task/check/check-task-file.ts';
import { readPlan } from '../../../src/task/plan/read-plan.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

/** The indented and the fenced blocks of a Markdown text, as they are without their indentation. */
function examples(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8');
  const blocks = [...text.matchAll(/(?<=\n\n)(?: {4}[^\n]*\n|\n(?= {4}))+/g)];
  const fenced = [...text.matchAll(/^```\w+[^\n]*\n(.*?)^```$/gms)].map(([, block = '']) => block);
  return [...blocks.map(([block]) => block.replace(/^ {4}/gm, '')), ...fenced];
}

const TASKS = ['README.md', 'references/task-files.md', 'templates/implementation-template.md'].flatMap((path) =>
  examples(path)
    .filter((text) => text.startsWith('---\n'))
    .map((text) => ({ path, text })),
);
const PLANS = ['references/plans.md', 'docs/tasks.md'].flatMap((path) =>
  examples(path)
    .filter((text) => /^- \[ \] (?:\([\w-]+\) )?\*\*/.test(text))
    .map((text) => ({ path, text })),
);

for (const { path, text } of TASKS) {
  const mission = /# Mission\n+(.*)/.exec(text)?.[1] ?? '';
  test(`the task file of ${path} (${mission}) has no problems, for a loop in a session and in its own folder`, () => {
    assert.deepEqual(checkTaskFile('.claude/ralph/PROMPT.md', text).problems, []);
    assert.deepEqual(checkTaskFile('x/RALPH.md', text).problems, []);
  });
}

for (const { path, text } of PLANS) {
  test(`the plan of ${path} can be executed`, () => {
    const { tasks, problems } = readPlan(text);
    assert.ok(tasks.length > 0);
    assert.deepEqual(problems, []);
  });
}

test('finds the examples and reads a sign and a finding as shown', () => {
  assert.deepEqual([TASKS.length, PLANS.length], [6, 2]);
  const text = readFileSync(join(root, 'references/task-files.md'), 'utf8').replace(/^ {6}/gm, '');
  assert.equal(parseSigns(text)[0]?.name, 'Name');
  const [finding] = examples('references/task-files.md').filter((each) => each.startsWith('### FINDING'));
  assert.deepEqual(
    readFindings(finding ?? '')
      .findings.filter(isOpen)
      .map(({ id }) => id),
    ['FINDING-001'],
  );
});

test('control: detects an example with an unknown key, and a plan with a dangling task', () => {
  assert.notDeepEqual(checkTaskFile('x/RALPH.md', '---\nvalidate: [a]\n---\n\nDo it.\n').problems, []);
  const { problems } = readPlan('- [ ] **Task 1: One**\n  - Depends on: Task 9\n  - Acceptance: it is there\n');
  assert.notDeepEqual(problems, []);
});
