import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Contract } from '../../../src/engine/schema/contract.ts';
import { writeContract } from '../../../src/state/evidence/store-evidence.ts';
import { hashContract } from '../../../src/state/hash-contract.ts';
import { findEndedContract, readContract } from '../../../src/state/loop-files.ts';
import { dropContract } from '../../../src/state/with-state.ts';
import { buildContract } from '../../../src/task/settings/build-contract.ts';
import { RalphError } from '../../../src/text/message.ts';
import { terms } from '../../support/contract-terms.ts';
import { aProject } from './a-loop.ts';

const built = buildContract(terms('/project', [], { frontmatter: 'ü\r\n', head: '---\nü\r\n---\n' })).contract;
const contract: Contract = { ...built, scripts: { b: '2', a: '1' } };

test('Reads a contract back as it was written, with its hash.', (t) => {
  const files = aProject(t);
  assert.equal(readContract(files), null);
  const stored = { hash: hashContract(contract), contract };
  writeContract(files, stored);
  assert.deepEqual(readContract(files), stored);
});

test('A contract is outside the project and readable by its owner only.', (t) => {
  const files = aProject(t);
  writeContract(files, { hash: '', contract });
  assert.ok(!files.contract.startsWith(files.projectDir));
  assert.equal(statSync(files.contract).mode & 0o077, 0);
  assert.equal(statSync(files.outsideDir).mode & 0o077, 0);
});

test('Ending a contract affects its own loop only, and ending it twice or without one is not an error.', (t) => {
  const files = aProject(t);
  dropContract(files);
  writeContract(files, { hash: '', contract });
  dropContract(files);
  dropContract(files);
  assert.equal(readContract(files), null);
  assert.equal(findEndedContract(files, contract.loopId)?.hash, '');
  assert.equal(findEndedContract(files, 'another'), null);
  assert.equal(readdirSync(files.outsideDir).length, 1);
});

test('Only a contract without private files that has not ended frees reads from the guard.', (t) => {
  const files = aProject(t);
  const withPrivate = { ...contract, guardrails: { ...contract.guardrails, privateFiles: ['secret.txt'] } };
  const frees = (change: () => void): boolean => {
    change();
    return existsSync(files.freeReads);
  };
  assert.equal(
    frees(() => writeContract(files, { hash: '', contract: withPrivate })),
    false,
  );
  assert.equal(
    frees(() => writeContract(files, { hash: '', contract })),
    true,
  );
  // As `accept` does while an agent works.
  assert.equal(
    frees(() => writeContract(files, { hash: '', contract: withPrivate })),
    false,
  );
  writeContract(files, { hash: '', contract });
  assert.equal(
    frees(() => dropContract(files)),
    false,
  );
});

test('An unusable contract is an error with a fix, and never counts as missing.', (t) => {
  const files = aProject(t);
  mkdirSync(files.outsideDir, { recursive: true });
  const whole = { hash: '', contract };
  const texts = ['', '{', 'null', '[]', '{}', '{"hash":"x"}', '{"hash":"x","contract":{"loopId":"x"}}'];
  const lacking = ['evidence', 'scripts', 'validation', 'policy'].map((key) =>
    JSON.stringify({ hash: '', contract: { ...contract, [key]: undefined } }),
  );
  for (const text of [...texts, ...lacking, JSON.stringify({ ...whole, hash: 1 })]) {
    writeFileSync(files.contract, text);
    assert.throws(
      () => readContract(files),
      (error) =>
        error instanceof RalphError &&
        error.code === 'contract-changed' &&
        /ralph-loop start --fresh/.test(error.message),
      text,
    );
  }
});

test('A contract of another version, without parts of policy or consent, throws in no hook.', (t) => {
  const files = aProject(t);
  const { breaker: _breaker, ...policy } = contract.policy;
  const { consented: _consented, ...unasked } = contract;
  for (const broken of [
    { ...contract, policy },
    { ...contract, policy: null },
    { ...contract, findingsLog: 5 },
    unasked,
  ]) {
    writeContract(files, { hash: '', contract: broken as unknown as Contract });
    assert.throws(() => readContract(files), RalphError);
  }
});

test('The hash depends on every value but not on the order of keys.', () => {
  const turned = Object.fromEntries(Object.entries(contract).reverse()) as unknown as Contract;
  const other = { ...turned, scripts: { a: '1', b: '2' } };
  assert.equal(hashContract(contract), hashContract(other));
  assert.notEqual(hashContract(contract), hashContract({ ...contract, frontmatter: 'u\n' }));
  assert.notEqual(hashContract(contract), hashContract({ ...contract, scripts: { a: '1' } }));
});
