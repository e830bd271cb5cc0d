import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { EVIDENCE_NAMES } from '../../../src/state/evidence/evidence.ts';
import { COLUMNS } from '../../support/evidence/evidence-columns.ts';
import { isExplained, pageOf, told, toldOn } from '../../support/evidence/evidence-page.ts';
import { type Cell, CONSISTENT, controlOf, damagesOf, outcomeOf } from '../../support/evidence/evidence-table.ts';
import { RECORDS, recordLosses } from '../../support/evidence/record-losses.ts';
import { IS_LONG, someOf } from '../../support/short-form.ts';

const PAGE = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'docs', 'evidence.md');
const cells: Cell[] = [];
const isWhole = IS_LONG || process.env['UPDATE'] === '1';

for (const [column, { play, drivenBy }] of Object.entries(COLUMNS))
  test(`${column}: no damage to evidence is silent`, async (t) => {
    const control = await controlOf(t, play);
    assert.equal(control.says, 'complete', 'control: with whole evidence');
    const own: Cell[] = [];
    const same = new Set(
      cells.flatMap((cell) => (cell.column === drivenBy && cell.row !== 'manifest' ? [cell.row] : [])),
    );
    for (const [at, row] of control.entries.entries()) {
      if (same.has(row)) continue;
      const damages = damagesOf(row);
      // In the short form each damage in a sixth of the cells of a column, and others in the next column.
      for (const damage of isWhole ? damages : someOf(damages, 6, at + Object.keys(COLUMNS).indexOf(column))) {
        own.push({ row, damage, column, outcome: await outcomeOf(t, play, row, damage, control) });
      }
    }
    if (process.env['SHOW']) console.error(own.map((c) => Object.values(c).join(' | ')).join('\n'));
    assert.deepEqual(
      own.filter(({ outcome, ...cell }) => outcome === 'silent' && !isOpen(cell)),
      [],
    );
    cells.push(...own);
  });

/** Returns whether a consistent change is not noticed there: no process remembers the entry, or another one writes it as well. */
function isOpen({ damage, row, column }: Omit<Cell, 'outcome'>): boolean {
  const remembers = column === 'runner' || COLUMNS[column]?.drivenBy === 'runner';
  return damage === CONSISTENT && (!remembers || WRITTEN_BY_HOOKS.includes(row));
}

const WRITTEN_BY_HOOKS = ['snapshot'];

const records: Record<string, Record<string, string>> = {};

for (const record of Object.keys(RECORDS))
  test(`no damage to the records of a project is silent: ${record}`, (t) => {
    assert.deepEqual(recordLosses(t, record, null), [null, null], 'control: with whole records');
    const losses = damagesOf('record').map((damage) => [damage, recordLosses(t, record, damage)] as const);
    for (const [damage, said] of losses) {
      assert.equal(
        said.some((each) => each !== null),
        true,
        damage,
      );
      const causes = new Set(said.flatMap((each) => each?.replace(/^.*\//, '`').replace('.json ', '.json` ') ?? []));
      records[record] = { ...records[record], [damage]: [...causes].join('; ') };
    }
  });

test('every entry of the evidence is damaged in some loop, and the page says what happens', () => {
  const rows = new Set(cells.map(({ row }) => row));
  const without = EVIDENCE_NAMES.filter((name) => !rows.has(name));
  assert.deepEqual(without, [], 'give a loop of evidence-columns.ts what makes it keep these entries');
  if (process.env['UPDATE'] === '1') writeFileSync(PAGE, pageOf(cells, records));
  const page = readFileSync(PAGE, 'utf8');
  assert.ok(isExplained(page), 'the paragraphs of docs/evidence.md are those of evidence-page.ts');
  for (const cell of cells)
    assert.equal(toldOn(page, cell), told(cell.row, cell.outcome), 'docs/evidence.md is outdated: UPDATE=1 writes it');
  if (isWhole) assert.equal(page, pageOf(cells, records));
});
