import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classifyTask, type DraftKind } from '../../../src/task/draft/draft-task.ts';

const TASKS: Readonly<Record<DraftKind, readonly string[]>> = {
  fix: [
    'fix the flaky auth tests',
    'Fix the migration that fails on Postgres 16',
    'The login tests are failing since Tuesday',
    'Debug why uploads time out',
    'the build is broken',
    'fix the bug report form',
    'port 8080 is taken and the server crashes',
    'the serial port crashes when we connect to it',
  ],
  migration: [
    'Migrate from Jest to Vitest',
    'port the parser to Rust',
    'Convert all class components into hooks',
    'upgrade React to 19',
    'rewrite the scripts in TypeScript',
    'replace moment with date-fns',
    'move the config from YAML to TOML',
    'switch to pnpm',
    'the migration of the orders table',
  ],
  analysis: [
    'Audit src/api for swallowed errors',
    'research how others shard their queues',
    'Analyse the memory use of the importer',
    'analyze it',
    'Investigate the failing tests and write down what you find',
    'find out why the cache is cold',
    'a report about our dependencies',
    'review the migration plan',
  ],
  general: [
    'Add CSV export',
    'support dark mode',
    'Support requests from the imported file to the report form',
    'Implement error handling in the parser',
    'refactor the reporter',
    'grow coverage of src/core',
    'exporting reporters of transport airports',
    'prefix the suffixes',
    'Übersetze alle Texte',
    '',
  ],
};

for (const [kind, texts] of Object.entries(TASKS)) {
  for (const text of texts) {
    test(`"${text}" is ${kind}`, () => assert.equal(classifyTask(text), kind));
  }
}

test('ignores case and line ends', () => {
  assert.equal(classifyTask('MIGRATE\r\nit'), 'migration');
  assert.equal(classifyTask('find\nout why'), 'analysis');
});

test('classifies a task of a million characters by its beginning', () => {
  assert.equal(classifyTask(`fix it ${'port '.repeat(200_000)}`), 'fix');
});
