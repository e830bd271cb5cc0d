import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normalisedError } from '../../../src/engine/transitions/iteration-ended.ts';

const SAME: readonly [string, string][] = [
  ['Overloaded (req_011CabcDEF).', 'Overloaded   (req_99zZ).'],
  ['session 5f0c2d3e-1a2b-4c3d-8e9f-001122334455 is gone', 'session 6f0c2d3e-1a2b-4c3d-8e9f-001122334456 is gone'],
  ['reset at 2026-02-28T10:00:00Z', 'reset at 2026-03-01T11:30:00.123Z'],
  ['process 123456 died\nat 0x7ffe12', 'process 654321 died at 0x7fff99'],
];
const OTHER: readonly [string, string][] = [
  ['exit code 1', 'exit code 2'],
  ['EACCES: a.txt', 'EPERM: a.txt'],
  ['the agent used up its turns (1).', 'the agent used up its turns (20).'],
];

test('an error with other ids, instants or white space is the same error', () => {
  for (const [one, other] of SAME) assert.equal(normalisedError(one), normalisedError(other));
});

test('an error with another code, name or small number is another error', () => {
  for (const [one, other] of OTHER) assert.notEqual(normalisedError(one), normalisedError(other));
});
