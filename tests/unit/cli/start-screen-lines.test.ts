import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startScreenLines } from '../../../src/cli/start/start-screen.ts';

const KEYS = ['[Enter] start  [m] another mode  [Esc] cancel'];
const NOTE = 'commands[0] runs in every iteration, but the body shows its output nowhere. Write: {{ commands.nap }}';

/** The rows of a screen that shows this note and these keys. */
const rows = (columns: number): string[] =>
  startScreenLines(
    { tasks: [], checks: { kind: 'done', baseline: null }, notes: [NOTE], foot: KEYS },
    columns,
    (_style, text) => text,
  ).map((row) => row.trimEnd());

test('a note of the start screen with a number in brackets is wrapped between words in a narrow terminal', () => {
  const at = (columns: number): string[] => rows(columns).slice(0, rows(columns).indexOf(''));
  const words = (lines: readonly string[]): string[] => lines.join(' ').trim().split(/\s+/);
  for (const columns of [40, 55, 80]) {
    assert.ok(at(columns).length > 1 && at(columns).every((row) => row.length < columns), `${columns}`);
    assert.deepEqual(words(at(columns)), ['Notes', ...NOTE.split(' ')], `${columns}`);
  }
});

test('a key of the start screen stays on one row with what it does', () => {
  const [, ...foot] = rows(32).slice(rows(32).indexOf(''));
  assert.deepEqual(foot, ['[Enter] start', '  [m] another mode', '  [Esc] cancel']);
});
