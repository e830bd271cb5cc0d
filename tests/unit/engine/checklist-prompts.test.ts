import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { compareChecklist } from '../../../src/engine/identity/items.ts';
import { wholePrompt } from '../../../src/engine/prompt/assemble-prompt.ts';
import type { ChecklistPromptParts } from '../../../src/engine/prompt/assemble-task-prompt.ts';
import { assembleChecklistPrompt, reflectionText } from '../../../src/engine/prompt/assemble-task-prompt.ts';

/** Whole prompts of checklists, as the agent reads them. `UPDATE_SCENARIOS=1` writes them anew: read the difference. */
const FOLDER = join('tests', 'scenarios', 'checklist-prompts');
const UPDATE = process.env['UPDATE_SCENARIOS'] === '1';

const TASK = '.ralph/site/task.md';

function parts(
  body: string,
  change: Partial<ChecklistPromptParts> = {},
  had: readonly string[] = [],
): ChecklistPromptParts {
  return {
    iteration: 3,
    maxIterations: 50,
    notices: { rejection: [], misplacedSignal: null, warnings: [] },
    steering: [],
    guardrailsPath: null,
    findings: null,
    taskPath: TASK,
    body,
    completion: { kind: 'none' },
    idle: false,
    terms: { commands: [], gate: 'disabled', requiredOutputs: [], itemsPerIteration: null, reflectEvery: null },
    validation: [],
    lastFailures: null,
    elapsedMs: 720_000,
    checklist: compareChecklist(body, 1, had),
    reflection: null,
    ...change,
  };
}

const list = (...items: string[]): string =>
  `# Goals\n\nA site with a login.\n\n# Checklist\n\n${items.map((item) => `- ${item}\n`).join('')}\n# Notes\n\nThe tests run with npm test.\n`;

const OPEN = list('[x] routes', '[ ] login form', '[ ] sessions', '[ ] logout', '[ ] styles', '[ ] docs');

const SCENARIOS: Readonly<Record<string, ChecklistPromptParts>> = {
  'open-items': parts(OPEN),
  'no-items': parts(list()),
  'all-checked': parts(list('[x] routes', '[x] login form'), {
    notices: { rejection: ['check "npm test" failed: exit code 1.'], misplacedSignal: null, warnings: [] },
    validation: [{ name: 'npm test' }],
  }),
  'items-gone': parts(list('[x] routes', '[]sessions'), {}, ['routes', 'login form', 'sessions']),
  reflection: parts(OPEN, {
    reflection: reflectionText(TASK),
    steering: [{ text: 'The login needs no captcha.' }],
    guardrailsPath: '.claude/ralph/guardrails.md',
  }),
  everything: parts(OPEN, {
    completion: { kind: 'promise', text: 'DONE' },
    idle: true,
    lastFailures: 'npm test',
    validation: [{ name: 'npm test' }],
    findings: { claimed: null, open: 2, problems: [] },
    terms: {
      commands: [{ name: 'lint', run: 'npm run lint', timeoutSeconds: 60, acceptance: true, directory: 'project' }],
      gate: 'required',
      requiredOutputs: ['REPORT.md'],
      itemsPerIteration: 1,
      reflectEvery: 4,
    },
  }),
};

test('the fixtures are exactly the checklist prompts', () => {
  if (UPDATE) return;
  assert.deepEqual(
    readdirSync(FOLDER).sort(),
    Object.keys(SCENARIOS)
      .map((name) => `${name}.md`)
      .sort(),
  );
});

for (const [name, given] of Object.entries(SCENARIOS)) {
  test(`the prompt of a checklist: ${name.replaceAll('-', ' ')}`, () => {
    const path = join(FOLDER, `${name}.md`);
    const prompt = wholePrompt(assembleChecklistPrompt(given));
    if (UPDATE) writeFileSync(path, prompt);
    assert.equal(readFileSync(path, 'utf8').replaceAll('\r\n', '\n'), prompt);
  });
}

test('an item or a reflection of a whole page is shortened', () => {
  const page = 'x'.repeat(100_000);
  const all = list(`[ ] ${page}`, `[]${page}`);
  const whole = wholePrompt(assembleChecklistPrompt({ ...parts(all, {}, [`a ${page}`]), body: '', reflection: page }));
  assert.ok(whole.length < 8_000, `${whole.length}`);
});

test('items that are gone are named, the first twenty of them, with the number of the others', () => {
  const lost = (count: number): string => {
    const had = Array.from({ length: count }, (_, at) => `item ${at + 1} of old`);
    return wholePrompt(assembleChecklistPrompt(parts(list('[x] routes'), {}, had)));
  };
  assert.match(lost(1), /^1 item of the list is missing\. Put it back, .*\n- item 1 of old\n(?!\d+ more)/m);
  const twenty = lost(20);
  assert.match(twenty, /^20 items of the list are missing\. Put them back, [\s\S]*\n- item 20 of old\n/m);
  assert.doesNotMatch(twenty, /more are missing/);
  const more = lost(22);
  assert.match(more, /\n- item 20 of old\n2 more are missing\.$/m);
  assert.doesNotMatch(more, /item 21/);
});
