import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slug } from '../src/slug.js';

test('words are joined by one hyphen each', () => {
  assert.equal(slug('Hello, World!'), 'hello-world');
});

test('a title that is a slug already stays as it is', () => {
  assert.equal(slug('hello-world'), 'hello-world');
});
