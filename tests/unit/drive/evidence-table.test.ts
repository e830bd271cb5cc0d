import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { EVIDENCE_NAMES } from '../../../src/state/evidence/entries.ts';
import { COLUMNS } from '../../support/evidence/evidence-columns.ts';
import { pageOf } from '../../support/evidence/evidence-page.ts';
import { type Cell, controlOf, DAMAGES, outcomeOf } from '../../support/evidence/evidence-table.ts';

const PAGE = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'docs', 'evidence.md');
const cells: Cell[] = [];

for (const [column, { play, drivenBy }] of Object.entries(COLUMNS))
  test(`${column}: no damage to evidence is silent`, async (t) => {
    const control = await controlOf(t, play);
    assert.equal(control.says, 'complete', 'control: with whole evidence');
    const own: Cell[] = [];
    const same = new Set(
      cells.flatMap((cell) => (cell.column === drivenBy && cell.row !== 'manifest' ? [cell.row] : [])),
    );
    for (const row of control.entries) {
      if (same.has(row)) continue;
      for (const damage of Object.keys(DAMAGES)) {
        own.push({ row, damage, column, outcome: await outcomeOf(t, play, row, damage, control) });
      }
    }
    if (process.env['SHOW']) console.error(own.map((c) => Object.values(c).join(' | ')).join('\n'));
    assert.deepEqual(
      own.filter(({ outcome }) => outcome === 'silent'),
      [],
    );
    cells.push(...own);
  });

test('every entry of the evidence is damaged in some loop, and the page says what happens', () => {
  const rows = new Set(cells.map(({ row }) => row));
  const without = EVIDENCE_NAMES.filter((name) => !rows.has(name));
  assert.deepEqual(without, [], 'give a loop of evidence-columns.ts what makes it keep these entries');
  const page = pageOf(cells);
  if (process.env['UPDATE']) writeFileSync(PAGE, page);
  assert.equal(readFileSync(PAGE, 'utf8'), page, 'docs/evidence.md is outdated: UPDATE=1 writes it');
});
