import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loopStatusLine } from '../../../src/drive/status/status-line.ts';
import { initialState } from '../../../src/engine/initial-state.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { factsText } from '../../../src/term/facts-text.ts';
import { instantText, painter, printable, table } from '../../../src/term/format.ts';
import { costText } from '../../../src/text/figures.ts';

test('uses colours only at a terminal that supports them, and NO_COLOR turns them off', () => {
  assert.equal(painter(true, {})('red', 'x'), '\u001B[31mx\u001B[39m');
  assert.equal(painter(false, {})('red', 'x'), 'x');
  assert.equal(painter(true, { NO_COLOR: '1' })('red', 'x'), 'x');
  assert.equal(painter(true, { NO_COLOR: '' })('red', 'x'), '\u001B[31mx\u001B[39m');
  assert.equal(painter(true, { TERM: 'dumb' })('red', 'x'), 'x');
});

test('an agent’s text cannot move the cursor, set the title or hide what precedes it', () => {
  const evil = 'done\u001B[2K\u001B[1A\u001B]0;title\u0007\rfailed\u009B31m\u0000';
  assert.ok(!/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(printable(evil)));
  assert.equal(printable('two\nlines\tand a tab'), 'two\nlines\tand a tab');
  for (const end of ['\u0007', '\u001b\\']) assert.equal(printable(`a\u001b]0;EVIL TITLE${end}b`), 'ab');
  assert.match(printable('a\u001b]0;rm -rf ~'), /-rf ~/, 'control: a title without an end hides nothing');
});

test('aligns columns by visible width, not by the bytes of a colour', () => {
  const red = painter(true, {})('red', 'a');
  assert.equal(table([[red, 'x'], ['bbb', 'y'], ['c']]), `${red}    x\nbbb  y\nc`);
});

test('shows an instant in local time, with how long ago it was or how long it will be', (t) => {
  const { TZ = 'UTC' } = process.env;
  t.after(() => {
    process.env['TZ'] = TZ;
  });
  process.env['TZ'] = 'Asia/Tokyo';
  assert.equal(instantText('2026-01-01T10:00:00Z', '2026-01-01T10:12:00Z'), '2026-01-01 19:00:00, 12m ago');
  assert.equal(instantText('2026-01-01T15:30:00.5Z', '2026-01-01T14:00:00.5Z'), '2026-01-02 00:30:00, in 1h 30m');
});

test('details within an event are shown in words, and their milliseconds as durations', () => {
  const entry = { limits: { maxIdleMs: 600_000, maxCostUsd: null }, checks: [{ name: 'tests' }], delayMs: 90_000 };
  assert.equal(
    factsText(entry, () => true),
    'limits: max idle 10m, checks: name tests, waits 1m 30s',
  );
});

test('the number of an iteration never decreases while it is checked, paused or resumed', () => {
  const at = '2026-01-01T10:00:00Z';
  const loop = {
    ...initialState({
      ...{ loopId: 'loop-1', name: null, mode: 'hook', taskPath: 'RALPH.md', contractHash: null },
      ...{ maxIterations: 8, at, consented: true },
    }),
    iteration: 2,
  };
  const shown = (state: object): string | undefined =>
    loopStatusLine({ ...loop, ...state } as LoopState, at, null).split(' │ ')[2];
  const paused = (reason: string, turn = 'rest'): object => {
    return { status: 'paused', turn, paused: { since: at, reason, message: '', resumesAt: null } };
  };
  const ended = { status: 'ended', ended: { at, as: 'complete', verified: true, message: '' } };
  for (const [state, expected] of [
    [{ status: 'running' }, 'iter 3/8'],
    [{ status: 'verifying', iteration: 3, verifying: { since: at } }, 'iter 3/8'],
    [paused('interrupted'), 'iter 3/8'],
    [paused('api-error'), 'iter 3/8'],
    [paused('operator', 'agent'), 'iter 3/8'],
    [paused('operator'), 'iter 2/8'],
    [ended, 'iter 2/8'],
  ] as const) {
    assert.equal(shown(state), expected, JSON.stringify(state));
  }
});

test('a cost that is partly unknown is a lower bound', () => {
  assert.deepEqual([costText(null), costText(1.444), costText(0.5, true)], ['cost unknown', '$1.44', 'at least $0.50']);
});

test('the status line says what a loop waits for, and until when', () => {
  const at = '2026-01-01T10:00:00Z';
  const { status: _status, ...loop } = initialState({
    ...{ loopId: 'loop-1', name: null, mode: 'hook', taskPath: 'RALPH.md', contractHash: null },
    ...{ maxIterations: 25, at, consented: true },
  });
  const wait = { since: at, until: '2026-01-01T10:05:00Z', delayMs: 300_000, last: false, woken: false, seen: null };
  const line = (waiting: Extract<LoopState, { status: 'waiting' }>['waiting'], now: string) =>
    loopStatusLine({ ...loop, status: 'waiting', waiting }, now, null).split(' │ ')[1];
  assert.equal(line(wait, at), 'idle, wakes in 5m');
  assert.equal(line({ ...wait, why: 'pace' }, at), 'waiting, next iteration in 5m');
  assert.equal(line({ ...wait, why: 'pace' }, '2026-01-01T10:06:00Z'), 'waiting, next iteration is due');
  assert.equal(line({ ...wait, why: 'pace', woken: true }, at), 'waking');
});
