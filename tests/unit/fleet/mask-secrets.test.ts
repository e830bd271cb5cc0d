import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskBytes, secretMask } from '../../../src/fleet/mask-secrets.ts';

test('masks values of secrets, plain and as JSON escapes them', () => {
  const mask = secretMask({ DEPLOY_TOKEN: 'abc"defgh', HOME: '/home/someone', SHORT_KEY: 'abc' });
  assert.equal(mask('it is abc"defgh'), 'it is ***');
  assert.equal(mask(JSON.stringify({ text: 'abc"defgh' })), '{"text":"***"}');
  assert.equal(mask('/home/someone abc'), '/home/someone abc');
});

test('masks the whole of a secret that begins like another', () => {
  assert.equal(secretMask({ A_TOKEN: 'abcdefgh', B_TOKEN: 'abcdefgh-more' })('abcdefgh-more abcdefgh'), '*** ***');
});

test('leaves bytes that are not text unchanged', () => {
  const bytes = Buffer.concat([Buffer.from([0xff, 0xfe, 0]), Buffer.from('pässword1234')]);
  const masked = maskBytes(bytes, { MY_SECRET: 'pässword1234' });
  assert.deepEqual(masked, Buffer.concat([Buffer.from([0xff, 0xfe, 0]), Buffer.from('***')]));
});
