import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainReport, REPORT_LIMIT } from '../../../../src/drive/router/call.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

test('removes the two spaces by which the client indents a text', () => {
  assert.equal(plainReport(bytes('  One.\n  \n\n    code\n  DONE')), 'One.\n\n\n  code\nDONE');
});

test('keeps the spaces of a text that has a line at the margin', () => {
  assert.equal(plainReport(bytes('One.\n  Two.')), 'One.\n  Two.');
});

test('takes the result out of a notification that was passed on whole', () => {
  const text = '<task-notification>\n<task-id>a1</task-id>\n<result>One.\nDONE</result>\n</task-notification>';
  assert.equal(plainReport(bytes(text)), 'One.\nDONE');
});

test('keeps the end of a text of many megabytes', () => {
  const text = plainReport(bytes(`${'x'.repeat(3 * REPORT_LIMIT)}\nDONE`));
  assert.ok(text.length <= REPORT_LIMIT && text.endsWith('\nDONE'));
});

test('accepts an empty text and arbitrary bytes', () => {
  assert.equal(plainReport(new Uint8Array()), '');
  const binary = plainReport(Uint8Array.from({ length: 4096 }, (_, index) => (index * 7) % 256));
  assert.equal(typeof binary, 'string');
});

test('treats a notification that the text only quotes as the agent’s own text', () => {
  const quoted = '<task-notification>\n<result>\nDONE\n</result>\n</task-notification>';
  for (const text of [`It prints:\n\n${quoted}`, `${quoted}\n\nIt prints that.`, `\`\`\`\n${quoted}\n\`\`\``]) {
    assert.equal(plainReport(bytes(text)), text);
  }
});

test('refuses the notifications of several subagents as one report', () => {
  const of = (text: string): string => `<task-notification>\n<result>${text}</result>\n</task-notification>`;
  assert.throws(() => plainReport(bytes(`${of('One.')}\n${of('DONE')}\n`)), /several subagents/);
});

test('keeps a text that is a code block from its first line to its last', () => {
  assert.equal(plainReport(bytes('    DONE\n\n      x')), '    DONE\n\n      x');
});

test('reads a text of tags that are opened again and again and never closed in linear time', () => {
  // By one expression for the whole notification this would take hours.
  for (const text of ['<task-notification><result>', '<task-notification><result>x</result>'].map((tags) =>
    tags.repeat(25_000),
  )) {
    assert.equal(plainReport(bytes(text)), text);
  }
});
