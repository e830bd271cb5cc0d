import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopHistory } from '../../../src/web/model/loop-history.ts';
import type { ReportData } from '../../../src/web/model/report-data.ts';
import { Plots } from '../../../src/web/page/iteration.ts';

const facts = { v: 1, loopId: 'l', at: '2026-03-01T10:01:00.000Z', startedAt: '2026-03-01T10:00:00.000Z' };
const agent = { costUsd: 0.1, usage: { inputTokens: 1_000, outputTokens: 0, cacheWriteTokens: 0 } };

/** Whether a report has plots, with so many iterations that have ended and maybe one that is at work. */
function hasPlots(ended: number, isOpen = false): boolean {
  const history = new LoopHistory();
  for (let iteration = 1; iteration <= ended; iteration++) {
    history.take({ ...facts, type: 'iteration.ended', iteration, durationMs: 60_000, agent });
  }
  if (isOpen) history.take({ ...facts, type: 'iteration.started', begins: ended + 1 });
  const { iterations } = history;
  assert.equal(iterations.length, ended + (isOpen ? 1 : 0));
  return Plots({ data: { iterations, limits: [], row: { mode: 'runner' } } as unknown as ReportData }) !== null;
}

test('four iterations have no plots and five have, and one at work does not count', () => {
  assert.deepEqual([hasPlots(0), hasPlots(4), hasPlots(4, true), hasPlots(5)], [false, false, false, true]);
});
