import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdPlan, readPlan } from '../../../../src/task/plan/read-plan.ts';

const lines = (...each: string[]): string => each.join('\n');

test('a task has its id, title, scope, dependencies, acceptance and notes', () => {
  const [task] = readPlan(
    lines(
      '# Plan',
      '- [ ] **Task 2: Add the service**',
      '  - Scope: `src/service`, `test/service`, @acme/core',
      '  - Depends on: Task 1, 7 and `Setup`',
      '  - Acceptance:',
      '    - first',
      '      goes on',
      '    - [ ] second',
      '  - Notes: short',
      '    and more',
      '- [ ] **Task 1: Schema**',
    ),
  ).tasks;
  const { boxAt: _, text: __, prose: ___, ...rest } = task ?? assert.fail();
  assert.deepEqual(rest, {
    id: 'Task 2',
    title: 'Add the service',
    status: 'open',
    dependsOn: ['Task 1', '7', 'Setup'],
    scope: ['src/service', 'test/service', '@acme/core'],
    acceptance: ['first goes on', 'second'],
    notes: ['short and more'],
    line: 2,
  });
});

for (const [shape, id, title] of [
  ['**Task 1: T**', 'Task 1', 'T'],
  ['**Task 1:** T', 'Task 1', 'T'],
  ['**Task 1**: T', 'Task 1', 'T'],
  ['**Task 1.2: T** (soon)', 'Task 1.2', 'T (soon)'],
  ['Task 1 - T', 'Task 1', 'T'],
  ['**Task 1 — T**', 'Task 1', 'T'],
  ['**Task 19.** T', 'Task 19', 'T'],
  ['__task a: T__', 'Task a', 'T'],
  ['**API-7: T**', 'API-7', 'T'],
  ['**Setup: T**', 'Setup', 'T'],
  ['**Task 1**', 'Task 1', 'Task 1'],
] as const) {
  test(`"${shape}" is ${id}, ${title}`, () => {
    const [task] = readPlan(`- [ ] ${shape}`).tasks;
    assert.deepEqual([task?.id, task?.title], [id, title]);
  });
}

for (const text of [
  '- [ ] TODO: tidy',
  '- [ ] https://example.org',
  '- [ ] plain',
  '- **Task 1: no box**',
  '- [y] Task 1: x',
]) {
  test(`"${text}" is not a task`, () => assert.deepEqual(readPlan(text).tasks, []));
}

test('a checked box counts as done whatever follows it, and blocked outweighs manual-verify', () => {
  const plan = lines(
    '- [x] (blocked) Task 1: a',
    '- [ ] (manual-verify) (blocked) Task 2: b',
    '- [ ] (manual-verify) Task 3: c',
    '- [X] Task 4: d',
  );
  assert.deepEqual(
    readPlan(plan).tasks.map(({ status }) => status),
    ['done', 'blocked', 'manual-verify', 'done'],
  );
});

test('reports every problem at once, with its line', () => {
  const { problems } = readPlan(
    lines(
      '---',
      'validation: []',
      '---',
      '- [ ] **Task 1: a**',
      '  - Scope: `a`',
      '  - Depends on: Task 3',
      '  - Acceptance: yes',
      '- [ ] **Task 1: b**',
      '  - Scope: the files of b',
      '  - Depends on: Task 9',
      '- [ ] **Task 3: c**',
      '  - Depends on: Task 1',
      '  - Acceptance: yes',
      '  - Notes: One. Two. Three. Four.',
      '- [ ] tidy up',
      '- Group',
      '  - [ ] **Task 5: inside**',
      '- [ ] **Task 6: d** (block until May)',
      '  - Scope: `d`',
      '  - Acceptance: yes',
    ),
  );
  assert.deepEqual(
    problems.map(({ line, taskId, rule, severity }) => [line, taskId, rule, severity]),
    [
      [4, 'Task 1', 'cyclic-dependency', 'error'],
      [8, 'Task 1', 'duplicate-id', 'error'],
      [8, 'Task 1', 'unknown-dependency', 'error'],
      [8, 'Task 1', 'missing-acceptance', 'error'],
      [8, 'Task 1', 'vague-scope', 'warning'],
      [11, 'Task 3', 'missing-scope', 'warning'],
      [11, 'Task 3', 'oversized-task', 'warning'],
      [15, null, 'no-task-id', 'warning'],
      [17, null, 'nested-task', 'warning'],
      [18, 'Task 6', 'unknown-mark', 'error'],
    ],
  );
});

test('names a cycle from task to task, once', () => {
  const task = (id: number, needs: number): string =>
    lines(`- [ ] Task ${id}: t`, '  - Scope: `a`', `  - Depends on: ${needs}`, '  - Acceptance: a');
  const { problems } = readPlan(lines(task(1, 2), task(2, 3), task(3, 1), task(4, 1)));
  assert.deepEqual(
    problems.map(({ message }) => message),
    ['these tasks wait for each other: Task 1 → Task 2 → Task 3 → Task 1. Remove one of the dependencies.'],
  );
});

for (const [what, body, warned] of [
  ['three sentences', 'One. Two v1.2 e.g. three. Three', false],
  ['four sentences', 'One. Two. Three. Four', true],
  ['601 characters', 'a'.repeat(601), true],
  ['600 characters', 'a'.repeat(600), false],
] as const) {
  test(`a task of ${what} is ${warned ? '' : 'not '}too big`, () => {
    const text = lines(
      '- [ ] Task 1: t',
      '  - Scope: `a`',
      '  - Acceptance: One. Two. Three. Four.',
      `  - Notes: ${body}`,
    );
    assert.deepEqual(
      readPlan(text).problems.map(({ rule }) => rule),
      warned ? ['oversized-task'] : [],
    );
  });
}

test('21 scope entries are too many, 20 are not', () => {
  const scoped = (count: number): string =>
    lines(
      '- [ ] Task 1: t',
      `  - Scope: ${Array.from({ length: count }, (_, at) => `f${at}`).join(', ')}`,
      '  - Acceptance: a',
    );
  assert.deepEqual(readPlan(scoped(20)).problems, []);
  assert.deepEqual(
    readPlan(scoped(21)).problems.map(({ rule }) => rule),
    ['oversized-task'],
  );
});

test('a finished task needs no acceptance or scope', () => {
  assert.deepEqual(readPlan('- [x] **Task 1: t**').problems, []);
});

test('a file without a task is not a plan', () => {
  assert.deepEqual(
    readPlan('# Nothing').problems.map(({ rule }) => rule),
    ['no-tasks'],
  );
});

test('a file with boxes and without a task says once how to work on them as a checklist', () => {
  const [only, ...more] = readPlan('---\nvalidation: [npm test]\n---\n# Fix\n\n- [ ] First\n- [x] Second\n').problems;
  assert.deepEqual([only?.line, only?.rule, only?.severity, more], [6, 'no-tasks', 'error', []]);
  assert.match(
    only?.message ?? '',
    /it has 2 boxes that name no task\..* to \.ralph\/NAME\/task\.md\. .*: ralph-loop run NAME\./,
  );
  const beside = readPlan('- [ ] **Task 1: a**\n  - Scope: `a`\n  - Acceptance: x\n- [ ] First\n').problems;
  assert.deepEqual(
    beside.map(({ rule }) => rule),
    ['no-task-id'],
    'control: beside a task a box is named by itself',
  );
});

test('reports a line that looks like a field with the right spelling, and ignores prose', () => {
  const under = (...fields: string[]): string[] => {
    const text = lines(
      '- [ ] **Task 1: A**',
      '  - Scope: a',
      '  - Acceptance: b',
      ...fields.map((field) => `  - ${field}`),
    );
    return readPlan(text)
      .problems.filter(({ rule }) => rule === 'stray-field')
      .map(
        ({ line, message }) =>
          `${line} ${message.slice(0, message.indexOf(':'))} ${/"([^"]*)"(?: in|$|\.)/.exec(message.slice(12))?.[1] ?? ''}`,
      );
  };
  assert.deepEqual(under('Commands: `npm test`', '**Verify:** x', '**Validation**: y'), [
    '4 "Commands validation:',
    '5 "Verify validation:',
    '6 "Validation validation:',
  ]);
  assert.deepEqual(under('Files: a, b', 'Scopes: a'), ['4 "Files Scope: ', '5 "Scopes Scope: ']);
  assert.deepEqual(under('Depend on: Task 2', 'Blocked by: Task 2'), [
    '4 "Depend on Depends on: ',
    '5 "Blocked by Depends on: ',
  ]);
  assert.deepEqual(under('Acceptence: c', 'Done when: c'), ['4 "Acceptence Acceptance: ', '5 "Done when Acceptance: ']);
  assert.deepEqual(
    under('Depends on: Task 1', 'Notes: x', 'Estimate: 2h', 'See https://a.b', 'Run it: then look', 'Files'),
    [],
  );
  assert.deepEqual(under('Acceptance:', '  - Commands: are documented'), [], 'what is nested belongs to its field');
  const done = lines('- [x] **Task 1: A**', '  - Commands: x');
  assert.deepEqual(readPlan(done).problems, [], 'what is done is not asked for more');
});

test('a mark counts before and behind id and title, inside and outside bold text, and is not part of it', () => {
  const spellings = [
    '(blocked) **Task 1: a**',
    '**(blocked) Task 1: a**',
    '**Task 1: a** (blocked)',
    '**Task 1: a (Blocked)**',
    '**Task 1 (blocked): a**',
    'Task 1 (blocked) - a',
    '**Task 1: (blocked) a**',
    'Task 1: **(blocked)** a',
    '**Task 1:** *(blocked)* a',
    '**(blocked)** Task 1: a',
    'Task 1: (blocked): a',
  ];
  for (const spelling of spellings) {
    const { tasks, problems } = readPlan(`- [ ] ${spelling}\n  - Acceptance: yes\n  - Scope: \`a\`\n`);
    const [task] = tasks;
    assert.deepEqual(problems, [], spelling);
    assert.deepEqual([task?.id, task?.title, task?.status], ['Task 1', 'a', 'blocked'], spelling);
  }
  const [manual] = readPlan('- [ ] **(manual-verify) Task 2: look (closely)**\n').tasks;
  assert.deepEqual([manual?.title, manual?.status], ['look (closely)', 'manual-verify']);
  const [remark] = readPlan('- [ ] **Task 3 (2h): look**\n').tasks;
  assert.deepEqual([remark?.title, remark?.status], ['look', 'open']);
  const [link] = readPlan('- [ ] Task 4: [blocked](https://example.test/a) is listed\n').tasks;
  assert.equal(link?.status, 'open', 'a link is no mark');
});

test('an invalid mark is an error, unless the task is done', () => {
  for (const mark of ['(block)', '(manual)', '[skipped]', '(on hold)', '(manual verify)']) {
    const plan = (box: string): string => `- [${box}] **Task 1: a** ${mark}\n  - Acceptance: yes\n  - Scope: \`a\`\n`;
    assert.deepEqual(
      readPlan(plan(' ')).problems.map(({ rule, severity }) => [rule, severity]),
      [['unknown-mark', 'error']],
    );
    assert.deepEqual(readPlan(plan('x')).problems, []);
  }
});

test('a task that needs no change is marked where a blocked one may be, and stays open', () => {
  for (const head of [
    '(no-change) **Task 1: Measure it**',
    '**(no-change) Task 1: Measure it**',
    '**Task 1: Measure it** (no-change)',
    '**Task 1: Measure it [no-change]**',
    '(NO-CHANGE) Task 1: Measure it',
  ]) {
    const { tasks, problems } = readPlan(`- [ ] ${head}\n  - Scope: a\n  - Acceptance: it is measured\n`);
    const [task] = tasks;
    assert.deepEqual([task?.title, task?.status, task?.noChange], ['Measure it', 'open', true], head);
    assert.deepEqual(problems, []);
  }
  const [both] = readPlan('- [ ] (no-change) (blocked) Task 1: Measure it\n').tasks;
  assert.deepEqual([both?.status, both?.noChange], ['blocked', true]);
});

test('what only looks like the mark of a task without change is an error, and a remark is none', () => {
  for (const mark of ['(no change)', '[nochange]', '(no-changes)', '(no changes needed)']) {
    const { problems } = readPlan(`- [ ] **Task 1: Measure it** ${mark}\n  - Scope: a\n  - Acceptance: x\n`);
    assert.deepEqual(
      problems.map(({ rule }) => rule),
      ['unknown-mark'],
      mark,
    );
  }
  const [task] = readPlan('- [ ] **Task 1: Tidy (no change in behaviour)**\n').tasks;
  assert.equal(task?.title, 'Tidy (no change in behaviour)');
  assert.equal(task?.noChange, undefined);
});

test('tasks that are gone before they were done are put back, wherever the rest of the plan ends', () => {
  const [one, two, three] = [1, 2, 3].map((id) => `- [ ] **Task ${id}: T**\n  - Scope: \`a\`\n  - Acceptance: b\n`);
  const done = `${three}`.replace('[ ]', '[x]');
  const before = `# Plan\n\n${one}${two}${done}`;
  const ids = (text: string): string[] => readPlan(text).tasks.map(({ id }) => id);
  for (const [now, gone] of [
    [`# Plan\n\n${two}${done}`, ['Task 1']],
    ['# Plan\n', ['Task 1', 'Task 2']],
    [`# Plan\n\n${one}\nSome notes`, ['Task 2']],
    [`# Plan\n\n${one}\n\`\`\`\nan open fence`, ['Task 2']],
    [`# Plan\n\n${one}${`${two}`.replace('Task 2', 'Task 2a')}`, ['Task 2']],
    ['', ['Task 1', 'Task 2']],
  ] as const) {
    const back = holdPlan(before, now);
    assert.deepEqual(back.gone, gone, now);
    for (const id of ['Task 1', 'Task 2']) assert.ok(ids(back.text).includes(id), now);
  }
  const withoutDone = `# Plan\n\n${one}${two}`;
  const kept = (text: string) => ({ text, gone: [], renamed: [], ticked: [] });
  assert.deepEqual(holdPlan(before, withoutDone), kept(withoutDone), 'control: a done task');
  assert.deepEqual(holdPlan(before, before), kept(before), 'control: the same plan');
});

test('the title of an open task stays with its id, and words may be added to it', () => {
  const item = (id: number, title: string, box = ' '): string =>
    `- [${box}] **Task ${id}: ${title}**\r\n  - Scope: \`a\`\r\n  - Acceptance: b\r\n`;
  const before = `# Plan\r\n\r\n${item(1, 'Parse')}${item(2, 'Print')}${item(3, 'Ship', 'x')}`;
  const swapped = before.replace('Task 1', 'Task 0').replace('Task 2', 'Task 1').replace('Task 0', 'Task 2');
  for (const [now, renamed] of [
    [before.replace('Print', 'Nothing'), ['Task 2']],
    [before.replace('Print', 'Prin'), ['Task 2']],
    [before.replace('[ ] **Task 2: Print', '[x] **Task 2: Nothing'), ['Task 2']],
    [before.replaceAll(/Parse|Print/g, 'Nothing'), ['Task 1', 'Task 2']],
  ] as const) {
    assert.deepEqual(holdPlan(before, now), { text: before, gone: [], renamed, ticked: [] }, now);
  }
  const back = holdPlan(before, swapped);
  assert.deepEqual(back.renamed, ['Task 2', 'Task 1']);
  const titles = readPlan(back.text).tasks.map(({ id, title }) => `${id} ${title}`);
  assert.deepEqual(titles, ['Task 2 Print', 'Task 1 Parse', 'Task 3 Ship']);
  for (const now of [
    before.replace('Print', 'Print, in colour'),
    before.replace('Print', '`print`'),
    before.replace('Ship', 'Nothing'),
  ]) {
    assert.deepEqual(holdPlan(before, now).renamed, [], `control: ${now}`);
  }
});

const task = (number: number, title: string): string =>
  `- [ ] **Task ${number}: ${title}**\n  - Scope: \`src\`\n  - Acceptance: works\n`;
const idsOf = (text: string): string[] => readPlan(text).tasks.map(({ id }) => id);

for (const begin of ['Strip <!-- markers', 'x</b> <!--', '\\<!-- x']) {
  test(`a comment that begins in a title hides no further task: ${begin}`, () => {
    const plan = [task(1, begin), task(2, 'Add'), task(3, 'Document the flow A --> B')].join('');
    assert.deepEqual(idsOf(plan), ['Task 1', 'Task 2', 'Task 3']);
    assert.deepEqual(idsOf(plan.replaceAll('\n', '\r\n')), ['Task 1', 'Task 2', 'Task 3']);
    const hidden = `${task(1, 'x')}\n<!--\n${task(2, 'Add')}\n-->\n${task(3, 'y')}`;
    assert.deepEqual(idsOf(hidden), ['Task 1', 'Task 3'], 'control: a comment that begins its line does');
  });
}

for (const whole of ['<!-->', '<!--->']) {
  test(`${whole} is a comment by itself and hides no task`, () => {
    assert.deepEqual(idsOf(`${whole}\n${task(1, 'x')}-->\n`), ['Task 1']);
  });
}

test('a tag on a line of its own belongs to no field', () => {
  const [only] = readPlan('- [ ] **Task 1: x**\n  - Scope: src/a\n  <br>\n  - Acceptance: yes\n').tasks;
  assert.deepEqual(only?.scope, ['src/a']);
});
