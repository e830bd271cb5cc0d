import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appendSign, parseSigns } from '../../../src/core/signs.ts';

const SIGN = {
  name: 'Read first',
  trigger: 'Before editing',
  instruction: 'Read the file',
  addedAfter: 'an overwritten change',
};
const BLOCK =
  '### Sign: Read first\n\n- **Trigger**: Before editing\n- **Instruction**: Read the file\n- **Added after**: an overwritten change\n';

test('a sign is written in the form of the guardrails file, and read back', () => {
  assert.equal(appendSign('', SIGN), BLOCK);
  assert.deepEqual(parseSigns(BLOCK), [SIGN]);
});

test('a sign is appended after one blank line, and what stood there stays', () => {
  assert.equal(appendSign('# Guardrails\n\nText.\n\n\n', SIGN), `# Guardrails\n\nText.\n\n${BLOCK}`);
  assert.equal(appendSign('# Guardrails', SIGN), `# Guardrails\n\n${BLOCK}`);
});

test('a name that is there already is not added again, however it is written', () => {
  const text = appendSign('', SIGN);
  assert.equal(appendSign(text, SIGN), text);
  assert.equal(appendSign(text, { ...SIGN, name: '  READ   first ' }), text);
  assert.equal(parseSigns(appendSign(text, { ...SIGN, name: 'Read again' })).length, 2);
});

test('values of several lines become one, so that they cannot forge another sign', () => {
  const text = appendSign('', { ...SIGN, name: 'a\n### Sign: b', instruction: 'x\n\n### Sign: c\n- **Trigger**: y' });
  assert.equal(parseSigns(text).length, 1);
  assert.equal(appendSign(text, { ...SIGN, name: 'a\n### Sign: b' }), text);
});

test('the line ending of the file is kept', () => {
  assert.equal(appendSign('# G\r\n', SIGN), `# G\r\n\r\n${BLOCK.replaceAll('\n', '\r\n')}`);
  assert.deepEqual(parseSigns(BLOCK.replaceAll('\n', '\r\n')), [SIGN]);
});

test('an example in a fence is no sign, and another heading ends one', () => {
  assert.deepEqual(parseSigns('```\n### Sign: [Name]\n```\n'), []);
  assert.deepEqual(parseSigns('### Sign: a\n## Other\n- **Trigger**: x\n'), [
    { name: 'a', trigger: '', instruction: '', addedAfter: '' },
  ]);
});

test('a field may be written without emphasis or with the colon inside it', () => {
  const [sign] = parseSigns('## Sign: a\nTrigger: x\n* **Instruction:** y\n- Added after: z\n');
  assert.deepEqual(sign, { name: 'a', trigger: 'x', instruction: 'y', addedAfter: 'z' });
});

test('an example in a comment is no sign, and keeps no sign of its name from being added', () => {
  const example = `<!--\n${BLOCK}-->\n`;
  assert.deepEqual(parseSigns(example), []);
  assert.deepEqual(parseSigns(appendSign(example, SIGN)), [SIGN]);
});

test('a line separator in a name or a value is a character like others', () => {
  const [sign] = parseSigns('### Sign: a\u2028b\n- **Trigger**: x\u2029y\n');
  assert.deepEqual([sign?.name, sign?.trigger], ['a\u2028b', 'x\u2029y']);
});
