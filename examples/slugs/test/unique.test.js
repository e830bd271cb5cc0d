import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unique } from '../src/unique.js';

test('a free slug is taken as it is', () => {
  assert.equal(unique('hello', new Set()), 'hello');
});

test('a taken slug gets the first number that is free', () => {
  assert.equal(unique('hello', new Set(['hello', 'hello-1'])), 'hello-2');
});
