import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { contract as schema } from '../../../src/engine/schema/contract.ts';
import { hashContract } from '../../../src/state/hash-contract.ts';
import { buildContract } from '../../../src/task/settings/build-contract.ts';
import { RalphError } from '../../../src/text/message.ts';
import { terms } from '../../support/contract-terms.ts';
import { folderWith, writeFiles } from '../../support/folder.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

test('a contract matches its schema and contains its own hash', (context) => {
  const stored = buildContract(terms(folderWith(context), ['npm test']));
  assert.deepEqual(schema.parse(stored.contract), stored.contract);
  assert.equal(stored.hash, hashContract(stored.contract));
});

test('commands without a name are named after what they run, each uniquely', (context) => {
  const { contract } = buildContract(
    terms(folderWith(context), [
      'npm   test',
      'npm test',
      { run: 'make', name: 'npm test (2)', timeout: 9 },
      `echo ${'x'.repeat(100)}`,
    ]),
  );
  assert.deepEqual(
    contract.validation.map(({ name, timeoutSeconds }) => [name, timeoutSeconds]),
    [
      ['npm test', 300],
      ['npm test (3)', 300],
      ['npm test (2)', 9],
      [`echo ${'x'.repeat(54)}…`, 300],
    ],
  );
  assert.equal(contract.validation[0]?.run, 'npm   test');
});

test('two commands of the same name are an error', (context) => {
  const twice = [
    { name: 'a', run: 'x' },
    { name: 'a', run: 'y' },
  ];
  assert.throws(
    () => buildContract(terms(folderWith(context), twice)),
    (error) => error instanceof RalphError && error.code === 'task-invalid' && /"a"/.test(error.message),
  );
});

test('stores the hashes of the scripts that the commands name under their path in the project', (context) => {
  // Neither the settings of npm in the tester's home nor a node in a folder of packages count.
  const { HOME, PATH } = process.env;
  context.after(() => Object.assign(process.env, { HOME, PATH }));
  Object.assign(process.env, { HOME: folderWith(context), PATH: '/usr/bin:/bin' });
  const directory = folderWith(context, {
    'check.sh': 'exit 0\n',
    'package.json': '{"scripts":{"test":"node --test"},"version":"1.0.0"}',
  });
  const { contract } = buildContract(terms(directory, ['./check.sh', 'npm test', 'bash check.sh']));
  assert.deepEqual(contract.scripts, {
    '.npmrc#settings': 'absent',
    'check.sh': sha256('exit 0\n'),
    'node_modules/.bin/node': 'absent',
    'node_modules/.bin/sh': 'absent',
    'package.json#scripts.posttest': 'absent',
    'package.json#scripts.pretest': 'absent',
    'package.json#scripts.test': sha256('node --test'),
    '~/.npmrc#settings': 'absent',
  });
});

test('the contract ignores changes of package.json except to the named script', (context) => {
  const directory = folderWith(context, { 'package.json': '{"scripts":{"test":"node --test"}}' });
  const before = buildContract(terms(directory, ['npm test']));
  writeFiles(directory, { 'package.json': '{"scripts":{"test":"node --test"},"dependencies":{"x":"1"}}' });
  assert.equal(buildContract(terms(directory, ['npm test'])).hash, before.hash);
  writeFiles(directory, { 'package.json': '{"scripts":{"test":"true"}}' });
  assert.notEqual(buildContract(terms(directory, ['npm test'])).hash, before.hash);
});
