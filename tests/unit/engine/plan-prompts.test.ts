import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assemblePlanPrompt, type PlanPromptParts } from '../../../src/engine/prompt/assemble-plan-prompt.ts';
import { wholePrompt } from '../../../src/engine/prompt/assemble-prompt.ts';

/**
 * Whole hand-offs of a plan, as the agent reads them. `UPDATE_SCENARIOS=1` writes them anew: read the difference before
 * you commit.
 */
const FOLDER = join('tests', 'scenarios', 'plan-prompts');
const UPDATE = process.env['UPDATE_SCENARIOS'] === '1';
const NOTHING = { rejection: [], misplacedSignal: null, warnings: [] };

const USUAL: PlanPromptParts = {
  iteration: 1,
  maxIterations: 25,
  notices: NOTHING,
  steering: [],
  guardrailsPath: null,
  completion: { kind: 'none' },
  idle: false,
  planPath: '.agents/plans/payments.md',
  progressPath: '.agents/plans/payments.progress.md',
  task: { id: 'Task 3', title: 'Add the service' },
  text: '- [ ] **Task 3: Add the service**\n  - Scope: `src/service`, `@acme/core`\n  - Depends on: Task 2\n  - Acceptance:\n    - Unit tests pass\n',
  scope: ['src/service', 'packages/core'],
  done: 0,
  maxTasks: 5,
  attempts: 0,
  isLast: false,
  lastProgress: null,
  report: null,
  beside: [],
  validation: [],
  projectChecks: [],
  noChange: false,
};

const SCENARIOS: Readonly<Record<string, Partial<PlanPromptParts>>> = {
  'first-task': {},
  'later-task': {
    iteration: 4,
    done: 2,
    lastProgress: 'Task 2: Add the schema (completed): the table is there. Learnings: migrations run twice.',
    guardrailsPath: '.claude/ralph/guardrails.md',
    validation: ['npm test', 'npm run lint'],
  },
  'failed-attempt': {
    iteration: 5,
    done: 2,
    attempts: 1,
    isLast: true,
    notices: {
      ...NOTHING,
      rejection: ['scope: outside the scope of Task 3: lib/a.ts.', 'npm test: exit code 1.\n1 test fails'],
      warnings: ['the frontmatter changed.'],
    },
    validation: ['npm test'],
  },
  'own-checks': { projectChecks: ['npm test', 'npm run lint'], noChange: true },
  'partial-work': { iteration: 3, report: 'Summary: the half of it.', steering: [{ text: 'Use the new client.' }] },
  'no-scope-idle-and-promise': { scope: [], idle: true, completion: { kind: 'promise', text: 'DONE' } },
};

test('the fixtures are exactly the hand-off prompts', () => {
  assert.deepEqual(
    readdirSync(FOLDER).sort(),
    Object.keys(SCENARIOS)
      .map((name) => `${name}.md`)
      .sort(),
  );
});

for (const [name, change] of Object.entries(SCENARIOS)) {
  test(`the hand-off of a plan: ${name.replaceAll('-', ' ')}`, () => {
    const path = join(FOLDER, `${name}.md`);
    const prompt = wholePrompt(assemblePlanPrompt({ ...USUAL, ...change }));
    if (UPDATE) writeFileSync(path, prompt);
    else assert.equal(readFileSync(path, 'utf8').replaceAll('\r\n', '\n'), prompt);
  });
}
