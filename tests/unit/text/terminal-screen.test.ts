import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shownLine, TerminalScreen } from '../../../src/text/terminal-screen.ts';

function shown(output: string): string[] {
  const lines: string[] = [];
  const screen = new TerminalScreen((line) => lines.push(line));
  for (const line of output.split('\n')) screen.line(line);
  screen.close();
  return lines;
}

test('shows of a line what a terminal would show', () => {
  for (const [raw, expected] of [
    ['plain  text\twith a tab', 'plain  text\twith a tab'],
    ['10 %\r50 %\r100 %', '100 %'],
    ['a long line\rab', 'ablong line'],
    ['a long line\r\u001b[Kab', 'ab'],
    ['ab\b\bc', 'cb'],
    ['\u001b[1m\u001b[38;5;245mbold\u001b[0m', 'bold'],
    ['\u001b]0;TITLE\u0007x', 'x'],
    ['\u001b]8;;http://a.b/\u001b\\link\u001b]8;;\u001b\\', 'link'],
    ['a\u001b[5Gb', 'a   b'],
  ] as const)
    assert.equal(shownLine(raw), expected, JSON.stringify(raw));
});

test('lines that the program overwrites later are shown once, as they were last', () => {
  assert.deepEqual(shown('one: 1\ntwo: 1\n\u001b[2A\u001b[Kone: 2\n\u001b[Ktwo: 2\nend'), ['one: 2', 'two: 2', 'end']);
  assert.deepEqual(shown('one\ntwo\nend'), ['one', 'two', 'end']);
});

test('a line that is too old to be overwritten is passed on', () => {
  const many = Array.from({ length: 100 }, (_, at) => `line ${at}`);
  assert.deepEqual(shown(many.join('\n')), many);
  assert.equal(shown([...many, '\u001b[999A\u001b[Jtop'].join('\n'))[50], 'line 50');
});
