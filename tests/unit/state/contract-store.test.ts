import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Contract } from '../../../src/engine/schema/contract.ts';
import { dropContract, findEndedContract, readContract, writeContract } from '../../../src/state/contract-store.ts';
import { hashContract } from '../../../src/state/hash-contract.ts';
import { buildContract } from '../../../src/task/settings/build-contract.ts';
import { RalphError } from '../../../src/text/ralph-error.ts';
import { terms } from '../../support/contract-terms.ts';
import { aProject } from './a-loop.ts';

const built = buildContract(terms('/project', [], { frontmatter: 'ü\r\n', head: '---\nü\r\n---\n' })).contract;
const contract: Contract = { ...built, scripts: { b: '2', a: '1' } };

test('A contract is read back as it was written, with its hash.', (t) => {
  const files = aProject(t);
  assert.equal(readContract(files), null);
  const stored = { hash: hashContract(contract), contract };
  writeContract(files, stored);
  assert.deepEqual(readContract(files), stored);
});

test('A contract lies outside the project and only its owner can look at it.', (t) => {
  const files = aProject(t);
  writeContract(files, { hash: '', contract });
  assert.ok(!files.contract.startsWith(files.projectDir));
  assert.equal(statSync(files.contract).mode & 0o077, 0);
  assert.equal(statSync(files.outsideDir).mode & 0o077, 0);
});

test('A contract that is over is put aside for its own loop, and dropping it twice, or where none ever was, is no error.', (t) => {
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

test('A contract that cannot be used is an error with a way out, and never the same as none.', (t) => {
  const files = aProject(t);
  mkdirSync(files.outsideDir, { recursive: true });
  const whole = { hash: '', contract };
  const texts = ['', '{', 'null', '[]', '{}', '{"hash":"x"}', '{"hash":"x","contract":{"loopId":"x"}}'];
  for (const text of [...texts, JSON.stringify({ ...whole, hash: 1 })]) {
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

test('A contract that another version wrote, without a part of its policy or without a word on consent, is no TypeError in every hook, and agreed to by nobody.', (t) => {
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

test('The hash does not depend on the order of keys, and on every value.', () => {
  const turned = Object.fromEntries(Object.entries(contract).reverse()) as unknown as Contract;
  const other = { ...turned, scripts: { a: '1', b: '2' } };
  assert.equal(hashContract(contract), hashContract(other));
  assert.notEqual(hashContract(contract), hashContract({ ...contract, frontmatter: 'u\n' }));
  assert.notEqual(hashContract(contract), hashContract({ ...contract, scripts: { a: '1' } }));
});
