import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { durationInWords, formatDuration, parseDuration } from '../../../src/text/time.ts';

describe('a duration', () => {
  const cases: [string, string, number][] = [
    ['is seconds when it is a bare number', '90', 90_000],
    ['is seconds when it is a bare number with decimals', '1.5', 1_500],
    ['may be zero', '0', 0],
    ['knows milliseconds', '250ms', 250],
    ['knows seconds', '30s', 30_000],
    ['knows minutes', '5m', 300_000],
    ['knows hours', '6h', 21_600_000],
    ['knows days', '1d', 86_400_000],
    ['may have decimals in its only part', '1.5h', 5_400_000],
    ['may have decimals in its last part', '1h30.5m', 5_430_000],
    ['may have several decimals', '1.25', 1_250],
    ['may have several decimals in its only part', '1.25h', 4_500_000],
    ['may have several decimals in its last part', '1h1.25m', 3_675_000],
    ['may have several parts', '1h30m', 5_400_000],
    ['may have all parts', '1d2h3m4s5ms', 93_784_005],
    ['may leave units out between', '1d5ms', 86_400_005],
    ['may have single spaces between its parts', '1h 30m 5s', 5_405_000],
    ['may have leading zeros', '01h', 3_600_000],
    ['may have more of a unit than the next holds', '90m', 5_400_000],
  ];
  for (const [name, text, milliseconds] of cases) {
    test(`${name}: ${text}`, () => assert.equal(parseDuration(text), milliseconds));
  }
});

describe('not a duration:', () => {
  const cases: Record<string, string> = {
    'an empty text': '',
    'a blank': ' ',
    'a unit alone': 'h',
    'a number with a sign': '-5s',
    'a number with a plus': '+5s',
    'a capital unit': '5M',
    'an unknown unit': '5w',
    'a space before the unit': '5 s',
    'a leading space': ' 5s',
    'a trailing space': '5s ',
    'a trailing line end': '5s\n',
    'two spaces between parts': '1h  30m',
    'a comma between parts': '1h,30m',
    'parts in rising order': '30m1h',
    'parts in rising order at the end': '1h5ms5s',
    'the same unit twice': '1h1h',
    'decimals before the last part': '1.5h30m',
    'a last part without its unit': '1h30',
    'a point without a number before it': '.5s',
    'a point without a number behind it': '5.s',
    'a number in another notation': '1e3s',
    'a number in another script': '٥s',
    'two bare numbers': '1 2',
    'a word before it': 'about 5s',
    'a word before a bare number': 'x5',
    'a bare number with a word behind it': '5x',
    'a bare number no computer holds': '9'.repeat(400),
    'more than can be counted exactly': '99999999999999d',
  };
  for (const [name, text] of Object.entries(cases)) test(name, () => assert.equal(parseDuration(text), null));
});

test('the largest safe integer of milliseconds is a duration, and the next one is not', () => {
  assert.equal(parseDuration(`${Number.MAX_SAFE_INTEGER}ms`), Number.MAX_SAFE_INTEGER);
  assert.equal(parseDuration('9007199254740992ms'), null);
});

describe('an agent reads a duration in words:', () => {
  const cases: [number, string][] = [
    [-5, 'less than a minute'],
    [0, 'less than a minute'],
    [59_999, 'less than a minute'],
    [60_000, '1 minute'],
    [150_000, '2 minutes'],
    [3_600_000, '1 hour'],
    [3_660_000, '1 hour 1 minute'],
    [7_500_000, '2 hours 5 minutes'],
    [86_400_000, '1 day'],
    [86_460_000, '1 day 1 minute'],
    [180_120_000, '2 days 2 hours'],
  ];
  for (const [milliseconds, text] of cases) {
    test(`${milliseconds} ms as ${text}`, () => assert.equal(durationInWords(milliseconds), text));
  }
});

describe('people read a duration in its two largest units:', () => {
  const cases: [number, string][] = [
    [0, '0ms'],
    [250, '250ms'],
    [999.4, '999ms'],
    [999.6, '1s'],
    [1_500, '1s'],
    [45_000, '45s'],
    [60_000, '1m'],
    [61_000, '1m 1s'],
    [5_400_000, '1h 30m'],
    [3_605_000, '1h 5s'],
    [3_661_000, '1h 1m'],
    [86_400_000, '1d'],
    [90_061_000, '1d 1h'],
    [-5, '0ms'],
  ];
  for (const [milliseconds, text] of cases) {
    test(`${milliseconds} ms as ${text}`, () => assert.equal(formatDuration(milliseconds), text));
  }
});
