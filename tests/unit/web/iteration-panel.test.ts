import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopHistory } from '../../../src/web/model/loop-history.ts';
import { IterationPanel } from '../../../src/web/page/iteration.ts';

test('the command that shows all of a brief iteration names its loop', () => {
  const history = new LoopHistory(undefined, 1);
  history.take({ type: 'iteration.ended', at: '2026-01-01T00:00:00.000Z', loopId: 'l', iteration: 1 });
  const [iteration] = history.iterations;
  assert.ok(iteration?.brief === true);
  for (const [loop, command] of [
    ['default', 'ralph-loop logs --activity'],
    ['docs', 'ralph-loop logs --loop docs --activity'],
  ] as const) {
    const shown = JSON.stringify(IterationPanel({ iteration, loop, commits: [] }));
    const words = shown.replace(/[",[\]]+/g, '');
    assert.ok(words.includes(command), words);
  }
});
