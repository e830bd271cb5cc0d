import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digest } from '../../../src/text/digest.ts';

test('equal texts have the same digest of 16 hexadecimal digits', () => {
  assert.equal(digest('still failing'), digest('still failing'));
  assert.match(digest('still failing'), /^[0-9a-f]{16}$/);
});

test('a digest never changes, because state files store it', () => {
  assert.deepEqual(['', 'a', 'b', 'ab', 'ba', 'é', 'a\u0100', '\u{1F600}', 'still failing, 3 tests'].map(digest), [
    'cbf29ce4811c9dc5',
    'c3b71f6be40c292c',
    'c4b71712e70c2de5',
    '3122cd054d2505ca',
    '32163f823c2ba6cc',
    '4bb6c0bd6c0b6c44',
    '93210a542b24d045',
    'bcb8d440ebf56cce',
    '6d2b8aa1bc129c2f',
  ]);
});

test('texts of the same characters in another order have different digests', () => {
  const texts = Array.from({ length: 5_000 }, (_, index) => `${index}:${index * 7919}`);
  assert.equal(new Set(texts.map(digest)).size, texts.length);
});
