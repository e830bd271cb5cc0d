import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forLoop } from '../../../src/term/for-loop.ts';

const TEXT = 'Go on with: main.cjs start --resume --launch (the launcher: ralph-audit.sh --resume). See main.cjs list.';

test('the default loop’s advice stays as it is', () => {
  assert.equal(forLoop(TEXT, null), TEXT);
});

test('the advice for a named loop names it, once, except where all loops are meant', () => {
  const named =
    'Go on with: main.cjs start --loop a --resume --launch (the launcher: ralph-audit.sh --loop a --resume). See main.cjs list.';
  assert.equal(forLoop(TEXT, 'a'), named);
  assert.equal(forLoop(named, 'a'), named);
});
