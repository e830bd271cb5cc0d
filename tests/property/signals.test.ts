import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readSignals, type Signals } from '../../src/engine/signals/signals.ts';
import { normalisedReply } from '../../src/engine/transitions/iteration-ended.ts';
import { formatDuration, parseDuration } from '../../src/text/time.ts';
import { SIGNAL } from '../support/arbitraries/arbitraries.ts';
import fc, { runs } from '../support/property.ts';

const RUNS = { numRuns: runs(2_000), includeErrorInReport: true };
const LOOP = { completion: { kind: 'signal', text: SIGNAL }, signalMatch: 'line' } as const;
const read = (text: string): Signals => readSignals(text, LOOP);

const fragment = fc.constantFrom(
  SIGNAL,
  `**${SIGNAL}**`,
  'RALPH_ITERATION_COMPLETE: 3 findings remain',
  '<!-- ralph:state idle -->',
  '<!--',
  '-->',
  'text',
  '`',
  '``',
  '- ',
  '1. ',
  '# ',
  '> ',
  '*',
  '_',
  ' ',
  '    ',
  '\t',
  '.',
  '!',
  '\u2028',
);
const line = fc
  .array(fc.oneof({ weight: 5, arbitrary: fragment }, fc.string({ unit: 'grapheme', maxLength: 3 })), { maxLength: 5 })
  .map((parts) => parts.join('').replace(/[\r\n]/g, ''));
const fence = fc.constantFrom('```', '~~~', '```js', '- ```', '  ```', '````');
/** Messages as agents write them and as nobody ever would. */
const message = fc
  .array(fc.oneof({ weight: 4, arbitrary: line }, { weight: 1, arbitrary: fence }), { maxLength: 8 })
  .map((lines) => lines.join('\n'));
const plain = fc
  .array(line, { maxLength: 8 })
  .map((lines) => lines.join('\n'))
  .filter((text) => !/```|~~~/.test(text));

const indented = (text: string, by: string) =>
  text
    .split('\n')
    .map((one) => by + one)
    .join('\n');
const silent = (text: string) => {
  const { completion, findings, states } = read(text);
  assert.deepEqual([completion === 'claimed', findings, states], [false, null, []], JSON.stringify(text));
};

describe('in any message,', () => {
  test('nothing of it counts inside a fence', () => {
    fc.assert(
      fc.property(message, (text) => silent(`${'`'.repeat(40)}\n${text}\n${'`'.repeat(40)}`)),
      RUNS,
    );
  });

  test('nothing of it counts inside an unclosed fence', () => {
    fc.assert(
      fc.property(message, (text) => silent(`Look:\n${'~'.repeat(40)} txt\n${text}`)),
      RUNS,
    );
  });

  test('nothing of it counts inside a quote', () => {
    fc.assert(
      fc.property(message, (text) => silent(indented(text, '> '))),
      RUNS,
    );
  });

  test('nothing of it counts as indented code', () => {
    fc.assert(
      fc.property(message, fc.constantFrom('    ', '\t', ' \t'), (text, by) => silent(indented(text, by))),
      RUNS,
    );
  });

  test('a signal alone on the last line counts, unless a fence is open', () => {
    fc.assert(
      fc.property(plain, (text) => assert.equal(read(`${text}\n${SIGNAL}`).completion, 'claimed')),
      RUNS,
    );
  });

  test('a findings line at the end is the one that counts', () => {
    fc.assert(
      fc.property(plain, fc.nat({ max: 999_999_999 }), (text, count) => {
        assert.equal(read(`${text}\nRALPH_ITERATION_COMPLETE: ${count} findings remain`).findings, count);
      }),
      RUNS,
    );
  });

  test('a marker at the end is read', () => {
    fc.assert(
      fc.property(plain, fc.stringMatching(/^[a-z][a-z0-9_-]{0,9}$/), (text, name) => {
        fc.pre(!/<!--[^>]*$/.test(text));
        assert.equal(read(`${text}\n<!-- ralph:state ${name} -->`).states.includes(name), true);
      }),
      RUNS,
    );
  });

  test('other line ends do not change the meaning', () => {
    fc.assert(
      fc.property(message, (text) => {
        assert.deepEqual(read(text.replaceAll('\n', '\r\n')), read(text));
        assert.deepEqual(read(text.replaceAll('\n', '\r')), read(text));
      }),
      RUNS,
    );
  });

  test('a claim is never accepted without the signal, and the signal is recognised anywhere', () => {
    fc.assert(
      fc.property(message, (text) => assert.equal(read(text).completion !== 'none', text.includes(SIGNAL))),
      RUNS,
    );
  });

  test('what counts on a line of its own counts anywhere', () => {
    fc.assert(
      fc.property(message, (text) => {
        if (read(text).completion !== 'claimed') return;
        assert.equal(readSignals(text, { ...LOOP, signalMatch: 'anywhere' }).completion, 'claimed');
      }),
      RUNS,
    );
  });

  test('its normalised form has no extra white space and ignores case', () => {
    fc.assert(
      fc.property(message, fc.constantFrom(' ', '\n\n', '\t\u2028'), (text, space) => {
        const form = normalisedReply(text, LOOP);
        assert.equal(/\s{2,}|^\s|\s$|[^\S ]/.test(form), false, JSON.stringify(form));
        assert.equal(normalisedReply(`${space}${text}${space}.`, LOOP), form);
        assert.equal(form, form.toLowerCase());
      }),
      RUNS,
    );
  });
});

test('a duration is read back as it was written, in all its parts', () => {
  const parts = fc.record({
    d: fc.nat({ max: 9 }),
    h: fc.nat({ max: 99 }),
    m: fc.nat({ max: 99 }),
    s: fc.nat({ max: 99 }),
    ms: fc.nat({ max: 999 }),
  });
  fc.assert(
    fc.property(parts, fc.constantFrom('', ' '), (given, between) => {
      const named = Object.entries(given).filter(([, amount]) => amount > 0);
      const total = given.d * 86_400_000 + given.h * 3_600_000 + given.m * 60_000 + given.s * 1_000 + given.ms;
      const text = named.map(([unit, amount]) => `${amount}${unit}`).join(between);
      assert.equal(parseDuration(text), total === 0 ? null : total);
    }),
    RUNS,
  );
});

test('a duration for people is a valid duration, and never longer than the exact one', () => {
  fc.assert(
    fc.property(fc.nat({ max: 10 ** 12 }), (milliseconds) => {
      const shown = parseDuration(formatDuration(milliseconds));
      assert.ok(shown !== null && shown <= milliseconds, formatDuration(milliseconds));
    }),
    RUNS,
  );
});
