import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Iteration, ReportData } from '../../../src/web/model/report-data.ts';
import { Plots } from '../../../src/web/page/plots.ts';

const ITERATION: Omit<Iteration, 'index'> = {
  number: 1,
  outcome: 'worked',
  startedAt: '2026-03-01T10:00:00.000Z',
  endedAt: '2026-03-01T10:01:00.000Z',
  durationMs: 60_000,
  costUsd: 0.1,
  tokens: 1_000,
  context: null,
  window: null,
  findings: null,
  breaker: null,
  toolCalls: 1,
  denied: 0,
  model: null,
  decision: '',
  said: '',
  error: null,
  reasons: [],
  calls: [],
  checks: [],
  commands: [],
  steering: [],
  commits: [],
};

/** Whether a report has plots, with so many iterations that have ended and maybe one that is at work. */
function hasPlots(ended: number, isOpen = false): boolean {
  const iterations = Array.from({ length: ended }, (_, at): Iteration => ({ ...ITERATION, index: at + 1 }));
  if (isOpen) iterations.push({ ...ITERATION, index: ended + 1, outcome: 'open' });
  return Plots({ data: { iterations, limits: [], row: { mode: 'runner' } } as unknown as ReportData }) !== null;
}

test('four iterations have no plots and five have, and one at work does not count', () => {
  assert.deepEqual([hasPlots(0), hasPlots(4), hasPlots(4, true), hasPlots(5)], [false, false, false, true]);
});
