import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TddPhase } from '../../../../src/engine/schema/tdd.ts';
import {
  allComplete,
  mayRun,
  nextScenario,
  recordBroken,
  recordPhase,
  redEvidence,
  standingOf,
} from '../../../../src/engine/tdd/phases.ts';
import { render } from '../../../../src/text/message.ts';
import { after, aList, entry } from '../../../support/tdd-list.ts';

const may = (list: ReturnType<typeof aList>, phase: TddPhase, id: string | null = null, again = false): string => {
  const answer = mayRun(list, phase, id, again);
  return answer.kind === 'refused'
    ? render(answer.why, { name: null, mode: 'hook' })
    : `${answer.kind} ${answer.scenario.id}`;
};

test('a scenario goes from red over green to refactored, and a proved phase does not run again', () => {
  const list = aList();
  assert.equal(may(list, 'red'), 'run sc-001');
  assert.match(may(list, 'green'), /no red evidence for sc-001/);
  assert.match(may(list, 'refactored'), /sc-001 is not green yet/);

  const red = after(list, 'sc-001 red');
  assert.equal(may(red, 'red'), 'done sc-001');
  assert.equal(may(red, 'red', null, true), 'run sc-001', 'a test that was sharpened');
  assert.equal(may(red, 'green'), 'run sc-001');
  assert.match(may(red, 'refactored'), /not green yet/);

  const green = after(red, 'sc-001 green');
  assert.equal(may(green, 'red'), 'run sc-002', 'the next one, without a call in between');
  assert.equal(may(green, 'red', 'sc-002'), 'run sc-002');
  assert.match(may(green, 'red', 'sc-001', true), /sc-001 is complete and is not run again/);
  assert.equal(may(green, 'green'), 'done sc-001');
  assert.equal(may(green, 'green', null, true), 'done sc-001', 'only red is run once more');
  assert.equal(may(green, 'refactored'), 'run sc-001');

  const refactored = after(green, 'sc-001 refactored');
  assert.equal(may(refactored, 'red'), 'run sc-002');
  assert.match(may(refactored, 'green'), /is not run again/);
  assert.equal(may(refactored, 'refactored'), 'done sc-001');
});

test('once the next scenario is current, the one before does not run again', () => {
  const moved = nextScenario(after(aList(), 'sc-001 red', 'sc-001 green')).record;
  assert.equal(moved.current, 'sc-002');
  for (const phase of ['red', 'refactored'] as const) assert.match(may(moved, phase, 'sc-001'), /is not run again/);
  assert.equal(may(moved, 'green', 'sc-001'), 'done sc-001', 'a call that is made again is answered, not run');
});

test('a scenario whose turn has not come does not run', () => {
  assert.match(may(aList(), 'red', 'sc-002'), /sc-002 is not the current scenario; sc-001 is/);
  assert.match(may(aList(), 'red', 'sc-009'), /there is no scenario sc-009/);
});

test("nothing of a list without the user's consent runs", () => {
  assert.match(may(aList(2, { consented: false }), 'red'), /has not approved/);
});

test('green completes a scenario with both pieces of evidence, for good', () => {
  const list = after(aList(), 'sc-001 red', 'sc-001 red', 'sc-001 green');
  assert.deepEqual(list.completed, [
    {
      id: 'sc-001',
      evidenceCommand: 'node --test tests/1.test.js',
      redEvidence: 'red of sc-001',
      greenEvidence: 'green of sc-001',
      passedAt: entry('sc-001', 'green').timestamp,
    },
  ]);
  assert.equal(after(list, 'sc-001 green').completed.length, 1, 'for good, however often it is said');
  const refactored = after(list, 'sc-001 refactored');
  assert.deepEqual(refactored.completed, list.completed);
  assert.equal(refactored.log.length, 4);
});

test('the red evidence is the output of the last red run', () => {
  const red = [entry('sc-001', 'red', 'the first'), entry('sc-001', 'red', 'the sharper one')].reduce(
    recordPhase,
    aList(),
  );
  assert.equal(redEvidence(red, 'sc-001')?.output, 'the sharper one');
  assert.equal(after(red, 'sc-001 green').completed[0]?.redEvidence, 'the sharper one');
  assert.equal(redEvidence(red, 'sc-002'), null);
});

test('next stays with a scenario until it is green, then follows the order, and returns none at the end', () => {
  let list = aList(3);
  const seen: (string | null)[] = [];
  for (let turn = 0; turn < 5; turn++) {
    const next = nextScenario(list);
    seen.push(next.scenario?.id ?? null);
    list = turn === 0 ? after(next.record, 'sc-001 red') : next.record;
    if (turn > 0 && next.scenario) list = after(list, `${next.scenario.id} red`, `${next.scenario.id} green`);
  }
  assert.deepEqual(seen, ['sc-001', 'sc-001', 'sc-002', 'sc-003', null]);
  assert.equal(list.current, null);
  assert.equal(allComplete(list), true);
});

test('a refactoring that breaks the test blocks everything until it passes again', () => {
  const green = after(aList(1), 'sc-001 red', 'sc-001 green');
  assert.equal(allComplete(green), true);
  const broken = recordBroken(green, 'sc-001', 'it fails');
  assert.equal(allComplete(broken), false);
  assert.equal(nextScenario(broken).scenario?.id, 'sc-001');
  assert.equal(may(broken, 'refactored'), 'run sc-001');
  assert.deepEqual(broken.completed, green.completed);
  const mended = after(broken, 'sc-001 refactored');
  assert.equal(mended.broken, null);
  assert.equal(allComplete(mended), true);
  assert.equal(standingOf(mended, 'sc-001'), 'refactored');
});

test('a later refactoring that breaks an earlier one is reopened too', () => {
  const broken = recordBroken(after(aList(1), 'sc-001 red', 'sc-001 green', 'sc-001 refactored'), 'sc-001', 'fails');
  assert.equal(may(broken, 'refactored'), 'run sc-001');
});
