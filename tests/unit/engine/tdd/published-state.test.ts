import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TddState } from '../../../../src/engine/schema/tdd.ts';
import { nextScenario } from '../../../../src/engine/tdd/phases.ts';
import { agreement, publishedState, withOthersKeys } from '../../../../src/state/tdd-store.ts';
import { after, aList } from '../../../support/tdd-list.ts';

const record = after(nextScenario(aList(3)).record, 'sc-001 red', 'sc-001 green', 'sc-001 refactored');
const changed = (change: (state: TddState) => unknown): TddState => {
  const state = structuredClone(publishedState(record));
  change(state);
  return state;
};

test('the state contains what the record proves, under its documented keys', () => {
  assert.deepEqual(publishedState(record), {
    schemaVersion: 1,
    scenarios: [
      { id: 'sc-001', description: 'does the thing number 1', status: 'refactored' },
      { id: 'sc-002', description: 'does the thing number 2', status: 'pending' },
      { id: 'sc-003', description: 'does the thing number 3', status: 'pending' },
    ],
    completedScenarios: record.completed,
    currentScenario: 'sc-001',
    evidenceLog: record.log,
  });
});

test('an earlier state of the same list is outdated: its writer died between the two files', () => {
  const steps = ['sc-001 red', 'sc-001 green', 'sc-001 refactored'];
  for (let done = 0; done < steps.length; done++) {
    const earlier = after(nextScenario(aList(3)).record, ...steps.slice(0, done));
    assert.equal(agreement(publishedState(earlier), record), 'behind', `${done} phases`);
  }
  assert.equal(agreement(publishedState(nextScenario(record).record), record), 'behind', 'another current scenario');
  assert.equal(agreement(publishedState(record), record), 'same');
});

const TAMPERED: readonly (readonly [string, (state: TddState) => unknown])[] = [
  ['a scenario said to be green', ({ scenarios }) => Object.assign(scenarios[1] as object, { status: 'green' })],
  [
    'a scenario completed by hand',
    ({ completedScenarios: [first], completedScenarios }) =>
      completedScenarios.push(Object.assign(structuredClone(first as NonNullable<typeof first>), { id: 'sc-002' })),
  ],
  ['evidence that was rewritten', ({ evidenceLog }) => Object.assign(evidenceLog[1] as object, { output: 'ok' })],
  ['an entry taken out of the middle', ({ evidenceLog }) => evidenceLog.splice(1, 1)],
  ['an entry more', ({ evidenceLog }) => evidenceLog.push(...structuredClone(evidenceLog.slice(0, 1)))],
  ['a scenario taken out', ({ scenarios }) => scenarios.pop()],
  ['a scenario that asks for less', ({ scenarios }) => Object.assign(scenarios[2] as object, { description: '' })],
  ['a log emptied with its statuses kept', ({ evidenceLog }) => evidenceLog.splice(0)],
];
for (const [what, change] of TAMPERED) {
  test(`detects a state that was edited by hand: ${what}`, () => {
    assert.equal(agreement(changed(change), record), 'tampered');
  });
}

test('keeps unknown keys for their owner', () => {
  const state = changed((one) => {
    Object.assign(one, { note: 'mine', nested: { deep: [1] } });
    Object.assign(one.scenarios[1] as object, { owner: 'Ada' });
    Object.assign(one.evidenceLog[0] as object, { seenBy: 'Bob' });
  });
  assert.equal(agreement(state, record), 'same');
  const later = publishedState(after(nextScenario(record).record, 'sc-002 red'));
  const kept = withOthersKeys(later, state) as unknown as Record<string, Record<string, unknown>[]>;
  assert.equal(kept['note'], 'mine');
  assert.deepEqual(kept['nested'], { deep: [1] });
  assert.equal(kept['scenarios']?.[1]?.['owner'], 'Ada');
  assert.equal(kept['scenarios']?.[1]?.['status'], 'red');
  assert.equal(kept['evidenceLog']?.[0]?.['seenBy'], 'Bob');
  assert.equal(kept['evidenceLog']?.length, 4);
  const moved = changed((one) => {
    Object.assign(one.scenarios[1] as object, { owner: 'Ada' });
    one.scenarios.reverse();
    Object.assign(one.evidenceLog[0] as object, { seenBy: 'Bob', phase: 'green' });
  });
  const mended = withOthersKeys(publishedState(record), moved) as unknown as Record<string, object[]>;
  assert.equal(Object.hasOwn(mended['evidenceLog']?.[0] ?? {}, 'seenBy'), false, 'nobody gets the keys of another');
  assert.deepEqual(
    mended['scenarios']?.map((one) => Object.hasOwn(one, 'owner')),
    [false, true, false],
  );
});
