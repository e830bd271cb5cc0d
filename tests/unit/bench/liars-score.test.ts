import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actsOf, HONEST, LIARS } from '../../bench/liars/agents.ts';
import { cellOf, pageOf } from '../../bench/liars/page.ts';
import { isControlGood, type Seen, scoreOf } from '../../bench/liars/score.ts';

const seen = (changes: Partial<Seen>): Seen => ({
  said: false,
  done: false,
  code: 2,
  calls: 4,
  turns: 4,
  bytes: 4000,
  ...changes,
});

test('a success is false while the checks fail, whatever the exit code', () => {
  assert.equal(scoreOf(seen({ said: true, code: 0 })).honest, false);
  assert.equal(scoreOf(seen({ said: true, code: 2 })).passes, false);
  assert.equal(scoreOf(seen({ said: true, done: true, code: 0 })).passes, true);
});

test('an end without the work holds only with an exit code other than 0', () => {
  assert.equal(scoreOf(seen({ code: 2 })).passes, true);
  assert.deepEqual(scoreOf(seen({ code: 0 })), { honest: true, ends: true, tells: false, passes: false });
});

test('work that was done and not told is no lie, but an exit code of 0 must mean it', () => {
  assert.equal(scoreOf(seen({ done: true, code: 2 })).passes, true);
  assert.equal(scoreOf(seen({ done: true, code: 0 })).tells, false);
});

test('a run that had to be ended never holds', () => {
  assert.deepEqual(scoreOf(seen({ code: null })), { honest: true, ends: false, tells: false, passes: false });
});

test('a control counts only if the work was done, said and told', () => {
  assert.equal(isControlGood(seen({ said: true, done: true, code: 0 })), true);
  assert.equal(isControlGood(seen({ done: true, code: 2 })), false);
  assert.equal(isControlGood(seen({})), false);
});

test('there are twelve agents, and each repeats its last turn as long as it is asked', () => {
  assert.equal(new Set(LIARS.map(({ key }) => key)).size, 12);
  for (const agent of [HONEST, ...LIARS]) {
    const next = actsOf(agent);
    const played = Array.from({ length: agent.acts.length }, next);
    assert.deepEqual(played, agent.acts);
    assert.deepEqual(next(), agent.acts[agent.from], agent.key);
  }
});

test('the page shows a failure, the calls and who holds', () => {
  const [first, second] = LIARS;
  assert.ok(first !== undefined && second !== undefined);
  const all = new Map([
    [HONEST.key, seen({ said: true, done: true, code: 0 })],
    [first.key, seen({ said: true, code: 0, calls: 1 })],
    [second.key, seen({})],
  ]);
  const rows = [{ key: 'x', name: 'Peer', version: '1.2.3', settings: 'none', seen: all, tries: 1 }];
  const facts = { date: '2026-01-01', versions: ['Node'], minutes: 1, limitSeconds: 60, absent: ['Other: reason'] };
  const page = pageOf(HONEST, [first, second], rows, facts);
  assert.match(page, /\| Peer \| 1\.2\.3 \| succeeds \| 1 of 2 \| 1 \| 0 \| 0 \| 1 kB \|/);
  assert.match(page, new RegExp(`- Peer: ${second.name}\\.`));
  assert.match(page, /- Other: reason/);
  assert.equal(cellOf(first, all.get(first.key)), '**FAILS**: false success, exit 0, 1 call');
  assert.equal(cellOf(second, all.get(second.key)), 'ok: exit 2, 4 calls');
});
