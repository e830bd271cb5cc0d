import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { nextPlanTask, type PlanTask } from '../../src/engine/plan/task-order.ts';
import { blockTask, readPlan, tickTask } from '../../src/task/plan/read-plan.ts';
import fc, { binaryText, runs } from '../support/property.ts';

const RUNS = { numRuns: runs(400), includeErrorInReport: true };
const PLANS = join(fileURLToPath(new URL('.', import.meta.url)), 'support', 'plans');

/** What a change took out of a text and put in its place, from the first to the last character that differs. */
function difference(before: string, after: string): { readonly out: string; readonly in: string } {
  let start = 0;
  while (start < before.length && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return { out: before.slice(start, before.length - end), in: after.slice(start, after.length - end) };
}

/** Ticks and blocks every open task, one after the other, and holds what changed. */
function assertMarks(text: string): number {
  const before = readPlan(text).tasks;
  for (const [index, task] of before.entries()) {
    assert.match(text.slice(task.boxAt - 1, task.boxAt + 2), /^\[[ \txX]\]$/);
    if (task.status === 'done') continue;
    const ticked = tickTask(text, task);
    assert.deepEqual(difference(text, ticked), { out: text[task.boxAt], in: 'x' });
    const others = readPlan(ticked).tasks.map((each, at) => (at === index ? { ...each, status: 'other' } : each));
    assert.deepEqual(
      others.map(({ id, status }) => [id, status]),
      before.map(({ id, status }, at) => [id, at === index ? 'other' : status]),
    );
    assert.equal(readPlan(ticked).tasks[index]?.status, 'done');
    const blocked = blockTask(text, task);
    const { out, in: put } = difference(text, blocked);
    assert.equal(out, '');
    assert.equal([...put].sort().join(''), task.status === 'blocked' ? '' : [...' (blocked)'].sort().join(''));
    assert.equal(readPlan(blocked).tasks[index]?.status, 'blocked');
    assert.deepEqual(
      readPlan(blocked).tasks.map(({ id, title }) => [id, title]),
      before.map(({ id, title }) => [id, title]),
    );
  }
  return before.length;
}

for (const name of readdirSync(PLANS)) {
  test(`ticking changes the bytes of one box in ${name}, and nothing else`, () => {
    const bytes = readFileSync(join(PLANS, name));
    const text = bytes.toString('utf8');
    assert.ok(Buffer.from(text).equals(bytes), 'the text holds every byte');
    assert.ok(assertMarks(text) > 0, 'the file has tasks');
  });
}

const eol = fc.constantFrom('\n', '\r\n');
const bullet = fc.constantFrom('- ', '* ', '+ ', '1. ', '12) ', '-   ');
const word = fc.constantFrom('Task 1', 'Task 2', 'Task A-1', 'task x', 'T7', 'é', 'Setup');
const annotation = fc.constantFrom('', '', '', '(blocked) ', '(manual-verify) ', '(no-change) ');
const title = fc.constantFrom('Add it', '`a:b` and *c*', 'naïve 計画 🚀', '[x] odd', 'x <!-- c -->');
const form = fc.constantFrom('**W: T**', '**W:** T', '**W**: T', 'W: T', '__W: T__', '**W - T**');
const filler = fc.constantFrom(
  ...['# Heading', '```', '~~~', '- plain', '  - nested', '> - [ ] **Task 9: quoted**', '    - [ ] Task 8: code', ''],
  ...[
    '  - Scope: `src`',
    '  - Depends on: Task 1, Task 2',
    '\t- Acceptance:',
    '\t\t- yes',
    '<!--',
    '-->',
    'words',
    '---',
  ],
);
const taskLine = fc
  .tuple(bullet, fc.constantFrom(' ', 'x', 'X', '\t'), annotation, form, word, title)
  .map(
    ([mark, box, note, shape, id, said]) => `${mark}[${box}] ${note}${shape.replace('W', id).replace('T', () => said)}`,
  );
const document = fc
  .tuple(
    fc.constantFrom('', '\ufeff', '---\nvalidation: []\n---\n'),
    fc.array(fc.oneof(taskLine, filler), { maxLength: 16 }),
    eol,
  )
  .map(([head, lines, end]) => head + lines.join(end));

test('ticking changes the bytes of one box in any plan, and nothing else', () => {
  fc.assert(
    fc.property(document, (text) => {
      assertMarks(text);
    }),
    RUNS,
  );
});

test('reading any text does not throw, and every problem has a line of it', () => {
  fc.assert(
    fc.property(fc.oneof(binaryText(), document), (text) => {
      const lines = text.split(/\r\n|[\n\r]/).length;
      for (const { line } of readPlan(text).problems) assert.ok(line >= 1 && line <= lines, `line ${line} of ${lines}`);
    }),
    RUNS,
  );
});

const ids = ['1', '2', '3', '4', '5', '6'];
const planTask: fc.Arbitrary<PlanTask> = fc.record({
  id: fc.constantFrom(...ids),
  title: fc.constant('t'),
  status: fc.constantFrom('open', 'open', 'done', 'blocked', 'manual-verify'),
  dependsOn: fc.array(fc.constantFrom(...ids, 'nowhere'), { maxLength: 2 }),
  scope: fc.constant([]),
  line: fc.nat(),
});
const plan = fc.uniqueArray(planTask, { selector: ({ id }) => id, maxLength: 6 });

test('the next task is the first open one whose dependencies are all done, and none is skipped', () => {
  fc.assert(
    fc.property(plan, (tasks) => {
      const done = new Set(tasks.filter(({ status }) => status === 'done').map(({ id }) => id));
      const { next, stop } = nextPlanTask(tasks);
      const ready = tasks.filter(({ status, dependsOn }) => status === 'open' && dependsOn.every((id) => done.has(id)));
      assert.equal(next, ready[0] ?? null);
      assert.equal(stop === null, next !== null);
      assert.equal(stop === 'complete', done.size === tasks.length);
      if (stop === 'needs-verification') assert.ok(tasks.some(({ status }) => status === 'manual-verify'));
    }),
    RUNS,
  );
});

test('working through a plan ends, and exactly what is never done is skipped', () => {
  fc.assert(
    fc.property(plan, (tasks) => {
      let now: readonly PlanTask[] = tasks;
      const { passed } = nextPlanTask(tasks);
      for (let next = nextPlanTask(now).next; next !== null; next = nextPlanTask(now).next) {
        const { id } = next;
        now = now.map((task) => (task.id === id ? { ...task, status: 'done' as const } : task));
      }
      assert.deepEqual(
        now.filter(({ status }) => status !== 'done').map(({ id }) => id),
        passed.map(({ id }) => id),
      );
    }),
    RUNS,
  );
});
