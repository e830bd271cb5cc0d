import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forLoop } from '../../../src/term/for-loop.ts';

const TEXT = 'Go on with: main.cjs start --resume --launch (the launcher: ralph-audit.sh --resume). See main.cjs list.';

test('the default loop’s advice stays as it is', () => {
  assert.equal(forLoop(TEXT, { name: null, mode: 'hook' }), TEXT);
});

test('the advice for a named loop names it, once, except where all loops are meant', () => {
  const named =
    'Go on with: main.cjs start --loop a --resume --launch (the launcher: ralph-audit.sh --loop a --resume). See main.cjs list.';
  assert.equal(forLoop(TEXT, { name: 'a', mode: 'hook' }), named);
  assert.equal(forLoop(named, { name: 'a', mode: 'hook' }), named);
});

test('a loop of a runner or of a router goes on in one', () => {
  const more = 'main.cjs start --resume --max-iterations N. Or main.cjs start --fresh, main.cjs start --consent.';
  for (const [mode, by] of [
    ['runner', 'run'],
    ['router', 'router start'],
  ] as const) {
    const gone = `Go on with: main.cjs ${by} --resume. See main.cjs list.`;
    assert.equal(forLoop(TEXT, { name: null, mode }), gone);
    assert.equal(
      forLoop(TEXT, { name: 'a', mode }),
      `Go on with: main.cjs ${by} --loop a --resume. See main.cjs list.`,
    );
    assert.equal(
      forLoop(more, { name: null, mode }),
      `main.cjs ${by} --resume --max-iterations N. Or main.cjs ${by} --fresh, main.cjs start --consent.`,
    );
  }
});
