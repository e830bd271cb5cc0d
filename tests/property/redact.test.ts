import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redact } from '../../src/text/redact/redact.ts';
import fc, { runs } from '../support/property.ts';

const RUNS = { numRuns: runs(2_000), includeErrorInReport: true };

/** Words of logs, code and prose; some of them are near a secret, and none is one. */
const WORDS =
  'the token password secret secretary bearer Authorization sk- ghp_ AKIA eyJ npm_config_registry key: tokens=12 max_tokens: 4096 const f() {} [ok] 12ms x=>x src/a-b.ts:12:3 https://example.com/a?b=c&d=e git@github.com:a/b.git "quoted" \'single\' `code` -- --flag --name=value <T> {"a":1} \\n \u00fc\u{1f600} \t'.split(
    ' ',
  );
const ordinary = fc
  .array(fc.tuple(fc.constantFrom(...WORDS), fc.constantFrom(' ', ' ', '  ', '\n', '\r\n', ', ', '. ')), {
    maxLength: 40,
  })
  .map((parts) => parts.map(([word, gap]) => word + gap).join(''));

const of = (characters: string, length: number) =>
  fc.array(fc.constantFrom(...characters), { minLength: length, maxLength: length }).map((found) => found.join(''));
const ALNUM = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const alnum = (length: number) => of(ALNUM, length);

/** A secret, and the text that it stands in. */
const planted = fc.oneof(
  alnum(36).map((key) => [key, `ghp_${key}`] as const),
  alnum(40).map((key) => [key, `sk-ant-api03-a1${key}`] as const),
  of('ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789', 16).map((key) => [key, `AKIA${key}`] as const),
  alnum(24).map((key) => [key, `xoxb-${key}`] as const),
  alnum(20).map((key) => [key, `glpat-${key}`] as const),
  alnum(36).map((key) => [key, `npm_${key}`] as const),
  alnum(35).map((key) => [key, `AIza${key}`] as const),
  alnum(30).map((key) => [key, `Authorization: Bearer ${key}`] as const),
  alnum(12).map((key) => [key, `DB_PASSWORD=${key}`] as const),
  alnum(12).map((key) => [key, `"clientSecret": "${key}"`] as const),
  alnum(12).map((key) => [key, `postgres://app:${key}@db/x`] as const),
  alnum(64).map((key) => [key, `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----`] as const),
);

test('Ordinary text stays byte for byte.', () => {
  fc.assert(
    fc.property(ordinary, (text) => assert.equal(redact(text), text)),
    RUNS,
  );
});

test('A secret is masked anywhere, the text around it stays, and masking again changes nothing.', () => {
  fc.assert(
    fc.property(ordinary, planted, ordinary, (before, [secret, text], after) => {
      const left = redact(`${before}\n${text}\n${after}`);
      assert.ok(!left.includes(secret), left);
      assert.ok(left.startsWith(before) && left.endsWith(after), left);
      assert.equal(redact(left), left);
    }),
    RUNS,
  );
});

test('Masking never makes a text longer.', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'token',
      'password',
      '=',
      ':',
      ' ',
      '"',
      "'",
      '\\',
      '\n',
      '***',
      'sk-',
      '://',
      '@',
      '-----BEGIN PRIVATE KEY-----',
    ),
    fc.string({ maxLength: 5 }),
    alnum(20),
    planted.map(([, text]) => text),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const text = pieces.join('');
      assert.ok(redact(text).length <= text.length, JSON.stringify([text, redact(text)]));
    }),
    RUNS,
  );
});
