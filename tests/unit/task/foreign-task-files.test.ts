import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTaskFile } from '../../../src/task/check/check-task-file.ts';

const BOXES = '# Fix plan\n\n- [x] one\n- [ ] two\n- [~] three\n';

const rulesOf = (path: string, text: string): string[] => checkTaskFile(path, text).problems.map(({ rule }) => rule);

test('open boxes of a named file that is no checklist are said to be uncounted, with the way to count them', () => {
  const [problem] = checkTaskFile('docs/todo.md', BOXES).problems;
  assert.equal(problem?.severity, 'warning');
  assert.match(problem?.message ?? '', /^2 open boxes are not counted\. .*\.ralph\/NAME\/task\.md.* run NAME\.$/);
  const one = checkTaskFile('todo.md', 'Do it.\n\n- [ ] one\n').problems[0]?.message ?? '';
  assert.match(one, /^1 open box is not counted\./);
});

test('control: a checklist, a file without open boxes, and the default prompt are not named', () => {
  assert.deepEqual(rulesOf('.ralph/site/task.md', BOXES.replace('[~]', '[ ]')), []);
  assert.deepEqual(rulesOf('docs/todo.md', '# Done\n\n- [x] one\n'), []);
  assert.deepEqual(rulesOf('docs/todo.md', 'Do it; `- [ ]` is a box.\n'), []);
  assert.deepEqual(rulesOf('.claude/ralph/PROMPT.md', BOXES), []);
});

test('JSON is refused as a task, with what to do', () => {
  for (const path of ['prd.json', 'docs/PRD.JSON', 'tasks.jsonc', 'tasks.md']) {
    const { problems, frontmatter } = checkTaskFile(path, '{"stories": [{"passes": false}]}');
    assert.deepEqual([problems[0]?.severity, problems[0]?.rule, frontmatter], ['error', 'json-task', null]);
    assert.match(problems[0]?.message ?? '', /ralph-loop run NAME\.$/);
  }
  for (const text of ['Read prd.json.\n', '[a link](b.md) and {braces}\n', '{"a": 1}\n\nis what b.json has to hold.\n'])
    assert.deepEqual(rulesOf('json.md', text), [], 'control: a text about JSON');
});

test('a text that names a findings log which is not read gets a warning with the key to set', () => {
  const text = '# Audit\n\nWrite findings to `.claude/context/reports/audit-findings.md`.\n';
  const [problem] = checkTaskFile('PROMPT.md', text).problems;
  assert.deepEqual([problem?.rule, problem?.severity, problem?.line], ['other-findings-log', 'warning', 3]);
  assert.match(problem?.message ?? '', /findings_log: \.claude\/context\/reports\/audit-findings\.md$/);
});

test('control: a log that is read, a named one, and a file of another name raise no warning', () => {
  for (const path of ['.ralph/findings.md', '.claude/ralph/findings.md', 'docs/notes.md', 'https://x.example/a']) {
    assert.deepEqual(rulesOf('PROMPT.md', `# Audit\n\nWrite to ${path}.\n`), [], path);
  }
  assert.deepEqual(rulesOf('PROMPT.md', '---\nfindings_log: a/findings.md\n---\nWrite to a/findings.md.\n'), []);
});
