import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assemblePrompt, wholePrompt } from '../../../../src/engine/prompt/assemble-prompt.ts';
import type { TddRecord } from '../../../../src/engine/schema/tdd.ts';
import { nextScenario, recordBroken, recordPhase } from '../../../../src/engine/tdd/phases.ts';
import { sectionText } from '../../../../src/engine/tdd/prompt-section.ts';
import { after, aList, entry } from '../../../support/tdd-list.ts';

/**
 * Whole prompts of a TDD loop, as the agent reads them. `UPDATE_SCENARIOS=1` writes them anew: read the difference before
 * you commit.
 */
const FOLDER = join('tests', 'scenarios', 'tdd-prompts');
const UPDATE = process.env['UPDATE_SCENARIOS'] === '1';

const RED = [
  'TAP version 13',
  '# Subtest: adds two numbers',
  'not ok 1 - adds two numbers',
  "  error: 'Expected ```3```, got 2'",
  '# tests 1',
  '# fail 1',
].join('\n');
const FAILING = recordPhase(aList(3), entry('sc-001', 'red', RED));
const GREEN = recordPhase(FAILING, entry('sc-001', 'green', 'ok 1 - adds two numbers'));

const SCENARIOS: Readonly<Record<string, readonly [TddRecord, readonly string[]]>> = {
  'nothing-yet': [aList(3), []],
  red: [FAILING, []],
  broken: [recordBroken(GREEN, 'sc-001', RED), []],
  'second-scenario': [GREEN, ['.claude/context/runtime/tdd-state.json was missing; it was restored from the proofs.']],
  complete: [after(aList(1), 'sc-001 red', 'sc-001 green', 'sc-001 refactored'), []],
};

for (const [name, [record, notes]] of Object.entries(SCENARIOS)) {
  test(`the prompt of a TDD loop: ${name}`, () => {
    const next = nextScenario(record);
    const section = sectionText(
      next.record,
      next.scenario,
      "node '.claude/skills/ralph-loop/scripts/main.cjs' tdd",
      notes,
    );
    const prompt = assemblePrompt({
      iteration: 2,
      maxIterations: 25,
      notices: { rejection: [], misplacedSignal: null, warnings: [] },
      steering: [],
      guardrailsPath: '.claude/ralph/guardrails.md',
      findings: null,
      taskPath: '.claude/ralph/TDD.md',
      beside: [section],
      body: '# Mission\n\nBuild what the scenarios ask for.\n',
      completion: { kind: 'signal', text: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS' },
      idle: false,
    });
    const path = join(FOLDER, `${name}.md`);
    if (UPDATE) writeFileSync(path, wholePrompt(prompt));
    assert.equal(wholePrompt(prompt), readFileSync(path, 'utf8'));
  });
}

test('every prompt fixture of a TDD loop is used', () => {
  assert.deepEqual(
    readdirSync(FOLDER).sort(),
    Object.keys(SCENARIOS)
      .map((name) => `${name}.md`)
      .sort(),
  );
});

test('the red evidence is verbatim in the prompt and cannot end its fence', () => {
  const output = 'a\n```\n````js\nb\n# Heading\n````````';
  const record = recordPhase(aList(1), entry('sc-001', 'red', output));
  const text = sectionText(record, nextScenario(record).scenario, 'tdd', []);
  assert.ok(text.includes(`\n${'`'.repeat(9)}\n${output}\n${'`'.repeat(9)}\n`), text);
});

test('a green scenario is only cleaned up, and a test that failed without output says so', () => {
  const section = (record: TddRecord): string => sectionText(record, record.scenarios[0] ?? null, 'tdd', []);
  const refactored = recordPhase(GREEN, entry('sc-001', 'refactored', 'ok'));
  for (const record of [GREEN, refactored]) {
    assert.match(section(record), /^1\. Clean up if needed, .*`tdd refactored`$/m);
    assert.doesNotMatch(section(record), /Write its test|Write the least code|red evidence/);
  }
  const silent = section(recordPhase(aList(1), entry('sc-001', 'red', '')));
  assert.match(silent, /^Its test is written and fails, and prints nothing\.$/m);
  assert.match(silent, /^1\. Write the least code .*\n2\. Clean up/m);
});
