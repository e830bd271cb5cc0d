import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redact } from '../../../../src/text/redact/redact.ts';
import { HARMLESS_SAMPLES, NAMED_SAMPLES, TOKEN_SAMPLES } from './secret-samples.ts';

const LETTERS: Readonly<Record<string, string>> = {
  A: 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0',
  h: '3f0a9c5e7b1d8246',
  l: 'b7k2m9x4q8w3z6t1',
  U: 'Q7W3E9R2T5Y8U1',
  d: '7391846205',
  w: 'aB3-dE6_gH9jK2',
};

/** Text of a sample in which `{36A}` became 36 characters of its class. */
const filled = (sample: string): string =>
  sample.replace(/\{(\d+)(\w)\}/g, (_whole, length: string, kind: string) =>
    (LETTERS[kind] ?? '').repeat(20).slice(0, Number(length)),
  );

/** Surroundings in which output, commands, task texts and inputs of tools hold a token. */
const AROUND: readonly (readonly [string, string])[] = [
  ['', ''],
  ['The call used ', ' and failed.'],
  ['{"input":{"command":"curl -H \'X: ', '\'"}}'],
  ['run: deploy --with=', ' && true'],
  ['\u001b[33m', '\u001b[0m'],
];

test('The samples are as many as promised.', () => {
  assert.ok(Object.keys(TOKEN_SAMPLES).length + NAMED_SAMPLES.length >= 150);
  assert.ok(HARMLESS_SAMPLES.length >= 200, `${HARMLESS_SAMPLES.length}`);
  assert.equal(new Set(HARMLESS_SAMPLES).size, HARMLESS_SAMPLES.length);
});

for (const [what, sample] of Object.entries(TOKEN_SAMPLES)) {
  test(`Masks a token of ${what} in every surroundings.`, () => {
    const token = filled(sample);
    const secret = token.slice(token.indexOf('=') + 1 || 0);
    for (const [before, after] of AROUND) {
      const left = redact(before + token + after);
      assert.ok(!left.includes(secret), left);
      assert.ok(!left.includes(secret.slice(-12)), left);
    }
  });
}

for (const sample of NAMED_SAMPLES) {
  test(`Masks what its surroundings show as a secret: ${sample.replace(/[«»]/g, '').slice(0, 60)}`, () => {
    const [, secret = ''] = /«(.*)»/s.exec(sample) ?? [];
    const left = redact(sample.replace(/[«»]/g, ''));
    assert.ok(!left.includes(secret), left);
    assert.equal(redact(left), left);
  });
}

for (const text of HARMLESS_SAMPLES) {
  test(`Keeps ${JSON.stringify(text).slice(0, 80)}`, () => assert.equal(redact(text), text));
}

test('Keeps the colours of a text without a secret.', () => {
  const text = '\u001b[32m✔\u001b[0m 12 tests passed';
  assert.equal(redact(text), text);
});

test('Finds a secret that colours divide.', () => {
  const left = redact(`\u001b[1mghp_\u001b[0m${filled('{36A}')}`);
  assert.equal(left, '***');
});

test('Masks a value of two words of prose, though one such word is no secret.', () => {
  assert.equal(redact('password: "first flag"'), 'password: "***"');
  assert.equal(redact('password: "required"'), 'password: "required"');
});
