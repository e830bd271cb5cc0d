import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainReport, REPORT_LIMIT } from '../../../../src/drive/router/report.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

test('a text that the client indented by two spaces is taken as it was written', () => {
  assert.equal(plainReport(bytes('  One.\n  \n\n    code\n  DONE')), 'One.\n\n\n  code\nDONE');
});

test('a text with a line of its own at the margin keeps its spaces', () => {
  assert.equal(plainReport(bytes('One.\n  Two.')), 'One.\n  Two.');
});

test('a notification that was passed on whole gives the result in it', () => {
  const text = '<task-notification>\n<task-id>a1</task-id>\n<result>One.\nDONE</result>\n</task-notification>';
  assert.equal(plainReport(bytes(text)), 'One.\nDONE');
});

test('of a text of many megabytes the end is kept', () => {
  const text = plainReport(bytes(`${'x'.repeat(3 * REPORT_LIMIT)}\nDONE`));
  assert.ok(text.length <= REPORT_LIMIT && text.endsWith('\nDONE'));
});

test('no bytes and any bytes are a text', () => {
  assert.equal(plainReport(new Uint8Array()), '');
  const binary = plainReport(Uint8Array.from({ length: 4096 }, (_, index) => (index * 7) % 256));
  assert.equal(typeof binary, 'string');
});

test('a notification that the text only quotes is the agent’s own text', () => {
  const quoted = '<task-notification>\n<result>\nDONE\n</result>\n</task-notification>';
  for (const text of [`It prints:\n\n${quoted}`, `${quoted}\n\nIt prints that.`, `\`\`\`\n${quoted}\n\`\`\``]) {
    assert.equal(plainReport(bytes(text)), text);
  }
});

test('the notifications of several subagents are not one report', () => {
  const of = (text: string): string => `<task-notification>\n<result>${text}</result>\n</task-notification>`;
  assert.throws(() => plainReport(bytes(`${of('One.')}\n${of('DONE')}\n`)), /several subagents/);
});

test('a text that is code from its first line to its last stays code', () => {
  assert.equal(plainReport(bytes('    DONE\n\n      x')), '    DONE\n\n      x');
});

test('a text of tags that are opened again and again and never closed is read at once', () => {
  // By one expression for the whole notification this would take hours.
  for (const text of ['<task-notification><result>', '<task-notification><result>x</result>'].map((tags) =>
    tags.repeat(25_000),
  )) {
    assert.equal(plainReport(bytes(text)), text);
  }
});
