import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runGate } from '../../../src/task/commands/gate.ts';
import { buildContract } from '../../../src/task/settings/build-contract.ts';
import { terms } from '../../support/contract-terms.ts';
import { folderWith, writeFiles } from '../../support/folder.ts';
import { OPTIONS } from './support/gate.ts';

function changedGate(context: TestContext, change: (directory: string) => void) {
  const directory = folderWith(context, {
    'check.sh': '#!/bin/sh\nexit 0\n',
    'package.json': '{"scripts":{"test":"./check.sh","lint":"true"}}',
  });
  const { contract } = buildContract(
    terms(directory, ['bash check.sh', 'sh ./check.sh', 'npm test', 'npm run lint', 'true']),
  );
  change(directory);
  return runGate(contract, directory, OPTIONS);
}

test('does not run a script that changed, and every check that names it says what to do', async (context) => {
  const results = await changedGate(context, (directory) =>
    writeFiles(directory, { 'check.sh': '#!/bin/sh\ntouch forged\n' }),
  );
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    ['changed', 'changed', 'changed', 'ok', 'ok'],
  );
  assert.match(
    results[0]?.detail ?? '',
    /^check\.sh was changed since the loop started, so it was not run\..*ralph-loop accept\.$/,
  );
});

test('control: without changes everything runs', async (context) => {
  const results = await changedGate(context, () => {});
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    ['ok', 'ok', 'ok', 'ok', 'ok'],
  );
});

test('a missing script counts as changed', async (context) => {
  const results = await changedGate(context, (directory) => rmSync(join(directory, 'check.sh')));
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    ['changed', 'changed', 'changed', 'ok', 'ok'],
  );
  assert.match(results[1]?.detail ?? '', /^check\.sh was removed since/);
});

test('a script of any size that was replaced counts as changed', async (context) => {
  const directory = folderWith(context, { 'bin/e2e': 'exit 1\n' });
  truncateSync(join(directory, 'bin/e2e'), 70 * 1024 * 1024);
  const { contract } = buildContract(terms(directory, ['sh bin/e2e']));
  writeFiles(directory, { 'bin/e2e': 'exit 0\n' });
  const [result] = await runGate(contract, directory, OPTIONS);
  assert.equal(result?.outcome, 'changed');
});

test('does not run a rewritten package script, and allows other changes of package.json', async (context) => {
  const forged = await changedGate(context, (directory) =>
    writeFiles(directory, { 'package.json': '{"scripts":{"test":"true","lint":"true"}}' }),
  );
  assert.deepEqual(
    forged.map(({ outcome }) => outcome),
    ['ok', 'ok', 'changed', 'ok', 'ok'],
  );
  const grown = await changedGate(context, (directory) =>
    writeFiles(directory, {
      'package.json': '{"scripts":{"test":"./check.sh","lint":"true","more":"x"},"dependencies":{}}',
    }),
  );
  assert.deepEqual(
    grown.map(({ outcome }) => outcome),
    ['ok', 'ok', 'ok', 'ok', 'ok'],
  );
});
