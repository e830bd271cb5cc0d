import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Ajv, type ValidateFunction } from 'ajv';
import * as z from 'zod';
import { OPEN_TASK, wholeRun } from '../../../src/drive/status/plan-run.ts';
import { run } from '../../../src/engine/schema/batch.ts';
import { planCheck, planStatus } from '../../../src/engine/schema/plan.ts';
import { skillInput, skillOutput } from '../../../src/engine/schema/skill-contract.ts';
import { tddRecord, tddState } from '../../../src/engine/schema/tdd.ts';
import { publishedState } from '../../../src/state/tdd-store.ts';
import {
  checkInput,
  checkOutput,
  evaluateJson,
  unknownKeys,
} from '../../../src/task/skill-contract/schema-problems.ts';
import { after, aList } from '../../support/tdd-list.ts';

const AT = '2026-03-12T10:00:00Z';
const FOLDER = 'schemas';

const read = (name: string): object =>
  JSON.parse(readFileSync(join(FOLDER, `${name}.schema.json`), 'utf8')) as Record<string, unknown>;
const validators = new Map<string, ValidateFunction>();

function accepts(name: string, value: unknown): boolean {
  const validator = validators.get(name) ?? new Ajv({ strict: false }).compile(read(name));
  validators.set(name, validator);
  return validator(value) as boolean;
}

/** The text that this project grew out of has this one, word for word but for its placeholders. */
const SEEDS_TDD_STATE = {
  scenarios: [{ id: 'sc-001', description: 'routing-guard blocks Write on creator paths', status: 'pending' }],
  completedScenarios: [
    {
      id: 'sc-001',
      evidenceCommand: 'node --test tests/hooks/routing-guard.test.cjs',
      redEvidence: 'AssertionError: expected exit code 2, got 0',
      greenEvidence: '✓ routing-guard blocks Write (4ms)',
      passedAt: AT,
    },
  ],
  currentScenario: 'sc-002',
  evidenceLog: [{ scenarioId: 'sc-001', phase: 'red', output: 'verbatim', timestamp: AT }],
};
const PROVED = after(aList(2), 'sc-001 red', 'sc-001 green');
const TASK = { id: 'Task 1', title: 'First', status: 'open', dependsOn: [], scope: ['src/'], line: 3 };

const RUN = wholeRun({
  id: 'run-1',
  title: 'Plan',
  plan: 'PLAN.md',
  atOnce: 2,
  status: 'blocked',
  live: false,
  startedAt: AT,
  endedAt: AT,
  durationMs: 0,
  why: 'Task 1 is blocked.',
  next: '',
  tasks: [{ ...OPEN_TASK, id: 'Task 1', title: 'First', status: 'blocked', why: 'no key' }],
});

const EXAMPLES: readonly (readonly [string, z.ZodType, readonly unknown[], readonly unknown[]])[] = [
  [
    'tdd-state',
    tddState,
    [SEEDS_TDD_STATE, publishedState(PROVED), { ...SEEDS_TDD_STATE, note: 'mine', currentScenario: null }],
    [{}, { ...SEEDS_TDD_STATE, schemaVersion: 2 }, { ...SEEDS_TDD_STATE, evidenceLog: [{ phase: 'blue' }] }],
  ],
  [
    'tdd-record',
    tddRecord,
    [PROVED],
    [
      { ...PROVED, more: 1 },
      { ...PROVED, consented: 'yes' },
    ],
  ],
  [
    'input',
    skillInput,
    [
      {},
      { maxIterations: 100, completionSignal: 'DONE' },
      { task: 'PLAN.md', plan: true, from: 'Task 5', maxTasks: 3 },
      { task: 'tasks/a', loop: 'a', args: { env: 'x' }, tdd: true, settings: { 'idle.delay': '10s' }, other: 1 },
    ],
    [
      ...[[], { maxIterations: 0 }, { maxIterations: 101 }, { maxIterations: 2.5 }, { args: [] }, { maxTasks: 101 }],
      ...[' ', '', 'a\nb', ' a', 'a\u2028b'].map((completionSignal) => ({ completionSignal })),
    ],
  ],
  [
    'output',
    skillOutput,
    [
      { active: false, message: 'No active loop.' },
      {
        ...{ active: true, iteration: 3, startedAt: AT, lastRunAt: AT, lastFindingsCount: 'unknown' },
        ...{ promptExists: true, guardrailsExists: false },
      },
      { success: true, message: 'The loop is reset.' },
      { maxIterations: 25, completionSignal: 'X', stateFile: 'a', promptFile: 'b', guardrailsFile: 'c', more: 1 },
      { action: 'spawn', iteration: 1, prompt: 'Do it.', agentType: 'ralph-qa', allowedScope: null },
      { action: 'wait', why: 'idle', message: 'Nothing to do.' },
      { action: 'stop', status: 'complete', message: 'Done.', verified: true },
    ],
    [{}, { active: true }, { action: 'go' }, { success: false, message: 'no' }, 'text'],
  ],
  [
    'plan-status',
    planStatus,
    [{ plan: 'PLAN.md', done: 0, total: 1, next: { id: 'Task 1', title: 'First' }, stop: null, tasks: [TASK] }],
    [{ plan: 'PLAN.md' }, { plan: 'PLAN.md', done: -1, total: 1, next: null, stop: 'over', tasks: [] }],
  ],
  ['run', run, [RUN, { ...RUN, tasks: [] }], [{}, { ...RUN, atOnce: 0 }, { ...RUN, more: 1 }]],
  [
    'plan-check',
    planCheck,
    [{ ok: true, tasks: [TASK], problems: [], next: 'Task 1', stop: null }],
    [{ ok: true, tasks: [{}], problems: [], next: null, stop: null }],
  ],
];

for (const [name, definition, good, bad] of EXAMPLES) {
  test(`the published schema ${name} is the one that the code uses, and accepts exactly its examples`, () => {
    const made = z.toJSONSchema(definition, { target: 'draft-7', io: 'input', unrepresentable: 'throw' });
    assert.deepEqual(read(name), JSON.parse(JSON.stringify(made)), 'run npm run build');
    for (const value of good) assert.ok(accepts(name, value), JSON.stringify(value));
    for (const value of bad) assert.equal(accepts(name, value), false, JSON.stringify(value));
  });
}

test('a validator can compile every published schema', () => {
  const names = readdirSync(FOLDER).map((file) => file.replace('.schema.json', ''));
  for (const name of names) assert.doesNotThrow(() => new Ajv({ strict: false }).compile(read(name)), name);
  for (const wanted of ['input', 'output', 'state', 'tdd-state', 'ralph-md-frontmatter', 'event']) {
    assert.ok(names.includes(wanted), wanted);
  }
});

test('reports everything wrong with an input at once, with its path, its value and the rule', () => {
  const value = {
    maxIterations: 0,
    completionSignal: '',
    circuitBreakerThreshold: 'many',
    args: { env: 1 },
    tdd: 'yes',
  };
  const problems = checkInput(value);
  assert.deepEqual(problems.map(({ path, value: found, rule }) => [path, found, rule]).sort(), [
    ['args.env', 1, 'type'],
    ['circuitBreakerThreshold', 'many', 'type'],
    ['completionSignal', '', 'pattern'],
    ['maxIterations', 0, 'minimum'],
    ['tdd', 'yes', 'type'],
  ]);
  const messages = problems.map(({ message }) => message);
  assert.ok(messages.includes('maxIterations must be a whole number from 1 to 100, but is 0'), messages.join('\n'));
  assert.ok(messages.includes('completionSignal must be a text that is not empty, but is ""'), messages.join('\n'));
  assert.deepEqual(unknownKeys({ maxIteration: 1, tdd: true }), ['maxIteration']);
});

test('describes the expected value in words, also if it may have several types', () => {
  const messages = (value: unknown): string[] => checkInput(value).map(({ message }) => message);
  assert.deepEqual(messages({ settings: { 'idle.watch': ['a'] } }), [
    'settings.idle.watch must be a text, a number or true or false, but is ["a"]',
  ]);
  assert.deepEqual(messages({ completionSignal: 'ALL\nDONE' }), [
    'completionSignal must be a text of one line, without white space at its ends, but is "ALL\\nDONE"',
  ]);
});

test('compares an answer with the form that it is meant to have', () => {
  assert.deepEqual(
    checkOutput({ active: true, iteration: -1 }).map(({ message }) => message),
    [
      'startedAt is missing',
      'lastRunAt is missing',
      'lastFindingsCount is missing',
      'promptExists is missing',
      'guardrailsExists is missing',
      'iteration must be a whole number from 0 on, but is -1',
    ],
  );
  assert.deepEqual(
    checkOutput({ action: 'stop', status: 'complete', message: 'x' }).map(({ message }) => message),
    ['verified is missing'],
  );
  assert.match(checkOutput({ a: 1 })[0]?.message ?? '', /not an answer of this skill/);
  assert.match(checkOutput('done')[0]?.message ?? '', /not an answer/);
});

test('reports what is not JSON with exit code 2', () => {
  for (const text of ['', ' ', '{', 'maxIterations: 5']) {
    const judged = evaluateJson(text, 'input', checkInput);
    assert.equal(judged.code, 2);
    assert.match(judged.lines[0] ?? '', /the input is not valid JSON/);
  }
  assert.deepEqual(evaluateJson('\uFEFF{}', 'input', checkInput), { code: 0, lines: [] });
});
