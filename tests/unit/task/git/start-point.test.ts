import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { sha256 } from '../../../../src/state/hash-contract.ts';
import { startPointOf } from '../../../../src/task/git/start-point.ts';
import { aProject } from '../../state/a-loop.ts';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const TREE = { commit: COMMIT, head: COMMIT, index: COMMIT };

/** Reads what is stored as the start point of `loop-1`. */
function readBack(t: TestContext, stored: object): unknown {
  const files = aProject(t);
  const text = JSON.stringify(stored);
  mkdirSync(files.outsideDir, { recursive: true });
  writeFileSync(files.startPoint, text);
  return startPointOf(files, { loopId: 'loop-1', evidence: { startPoint: sha256(text) } });
}

test('a start point is read as it was stored', (t) => {
  assert.deepEqual(readBack(t, { loopId: 'loop-1', tree: TREE }), { loopId: 'loop-1', tree: TREE });
});

test('a start point of another loop, or without commits, is lost and not absent', (t) => {
  assert.throws(() => readBack(t, { loopId: 'loop-2', tree: TREE }), { code: 'evidence-lost' });
  assert.throws(() => readBack(t, { loopId: 'loop-1' }), { code: 'evidence-lost' });
  assert.throws(() => readBack(t, { loopId: 'loop-1', tree: { ...TREE, head: 'main' } }), { code: 'evidence-lost' });
});
