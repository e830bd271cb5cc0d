import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sign } from '../../../src/engine/events.ts';
import { parseSigns, signBehind } from '../../../src/engine/prompt/signs.ts';

const appendSign = (text: string, sign: Sign): string => text + signBehind(text, sign);

const SIGN = {
  name: 'Read first',
  trigger: 'Before editing',
  instruction: 'Read the file',
  addedAfter: 'an overwritten change',
};
const BLOCK =
  '### Sign: Read first\n\n- **Trigger**: Before editing\n- **Instruction**: Read the file\n- **Added after**: an overwritten change\n';

test('writes a sign in the form of the guardrails file and reads it back', () => {
  assert.equal(appendSign('', SIGN), BLOCK);
  assert.deepEqual(parseSigns(BLOCK), [SIGN]);
});

test('appends a sign after one blank line and keeps the rest', () => {
  for (const text of ['# Guardrails\n\nText.\n\n', 'Text.\n\n\n', 'Text.\n \n']) {
    assert.equal(appendSign(text, SIGN), `${text}${BLOCK}`);
  }
  assert.equal(appendSign('# Guardrails\n', SIGN), `# Guardrails\n\n${BLOCK}`);
  assert.equal(appendSign('# Guardrails', SIGN), `# Guardrails\n\n${BLOCK}`);
});

test('does not add a name again, however it is written', () => {
  const text = appendSign('', SIGN);
  assert.equal(appendSign(text, SIGN), text);
  assert.equal(appendSign(text, { ...SIGN, name: '  READ   first ' }), text);
  assert.equal(parseSigns(appendSign(text, { ...SIGN, name: 'Read again' })).length, 2);
});

test('joins values of several lines, so that they cannot forge another sign', () => {
  const text = appendSign('', { ...SIGN, name: 'a\n### Sign: b', instruction: 'x\n\n### Sign: c\n- **Trigger**: y' });
  assert.equal(parseSigns(text).length, 1);
  assert.equal(appendSign(text, { ...SIGN, name: 'a\n### Sign: b' }), text);
});

test('keeps the line ending of the file', () => {
  assert.equal(appendSign('# G\r\n', SIGN), `# G\r\n\r\n${BLOCK.replaceAll('\n', '\r\n')}`);
  assert.deepEqual(parseSigns(BLOCK.replaceAll('\n', '\r\n')), [SIGN]);
});

test('an example in a fence is not a sign, and another heading ends one', () => {
  assert.deepEqual(parseSigns('```\n### Sign: [Name]\n```\n'), []);
  assert.deepEqual(parseSigns('### Sign: a\n## Other\n- **Trigger**: x\n'), [
    { name: 'a', trigger: '', instruction: '', addedAfter: '' },
  ]);
});

test('a field may be written without emphasis or with the colon inside it', () => {
  const [sign] = parseSigns('## Sign: a\nTrigger: x\n* **Instruction:** y\n- Added after: z\n');
  assert.deepEqual(sign, { name: 'a', trigger: 'x', instruction: 'y', addedAfter: 'z' });
});

test('an example in a comment is not a sign and does not prevent adding one of its name', () => {
  const example = `<!--\n${BLOCK}-->\n`;
  assert.deepEqual(parseSigns(example), []);
  assert.deepEqual(parseSigns(appendSign(example, SIGN)), [SIGN]);
});

test('a line separator in a name or a value is an ordinary character', () => {
  const [sign] = parseSigns('### Sign: a\u2028b\n- **Trigger**: x\u2029y\n');
  assert.deepEqual([sign?.name, sign?.trigger], ['a\u2028b', 'x\u2029y']);
});

test('reads what looks like the heading or a field of a sign only where it is one', () => {
  const only = (name: string) => [{ name, trigger: '', instruction: '', addedAfter: '' }];
  for (const heading of ['### Sign: a', '#  \tSign: a', '   ###### sign:a', '## Sign:  a  ##  ', '## SIGN: a #'])
    assert.deepEqual(parseSigns(`${heading}\n`), only('a'), heading);
  for (const heading of ['### No Sign: a', '###Sign: a', '    ### Sign: a', '####### Sign: a', 'Sign: a', '### Sign:'])
    assert.deepEqual(parseSigns(`${heading}\n- **Trigger**: x\n`), [], heading);
  for (const line of ['See the trigger: x', 'Triggers: x', 'Trigger x: y', '1. Trigger: x'])
    assert.deepEqual(parseSigns(`### Sign: a\n${line}\n`), only('a'), line);
  assert.deepEqual(parseSigns('- **Trigger**: x\n### Sign: a\n'), only('a'));
});

test('a value is the text behind the colon, trimmed', () => {
  const [sign] = parseSigns('### Sign: a\nTRIGGER:x y\n> + Instruction : z: 1 \t\n__Added After__:  b  \n');
  assert.deepEqual(sign, { name: 'a', trigger: 'x y', instruction: 'z: 1', addedAfter: 'b' });
});

test('the later value of a repeated field counts, and each sign has its own', () => {
  const signs = parseSigns('### Sign: a\nTrigger: 1\nTrigger: 2\n### Sign: b\nTrigger: 3\n');
  assert.deepEqual(
    signs.map(({ trigger }) => trigger),
    ['2', '3'],
  );
});

test('collapses and trims blanks in what is added', () => {
  const sign = { name: ' a\t b ', trigger: ' x\n\n### Sign: c ', instruction: 'y  z', addedAfter: ' ' };
  const block = '### Sign: a b\n\n- **Trigger**: x ### Sign: c\n- **Instruction**: y z\n- **Added after**: \n';
  assert.equal(appendSign('', sign), block);
  assert.equal(appendSign(' \n\n', sign), ` \n\n${block}`);
  assert.equal(appendSign(' ', sign), ` \n${block}`);
  assert.equal(appendSign('### Sign: A   B\n', sign), '### Sign: A   B\n');
});

test('behind an unclosed fence a sign is added once, though it does not count there', () => {
  const open = '# G\n\n```\nan example\n';
  const once = appendSign(open, SIGN);
  assert.ok(once.endsWith(BLOCK));
  assert.deepEqual(parseSigns(once), []);
  assert.equal(appendSign(once, SIGN), once);
  assert.notEqual(appendSign(once, { ...SIGN, name: 'Another' }), once);
});
