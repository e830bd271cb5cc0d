import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { completionText, promiseProblem, readSignals, signalProblem } from '../../../src/engine/signals/signals.ts';
import { SIGNAL } from './support/loop.ts';

const SIGNAL_LOOP = { completion: { kind: 'signal', text: SIGNAL }, signalMatch: 'line' } as const;
const PROMISE_LOOP = { completion: { kind: 'promise', text: 'DONE' }, signalMatch: 'line' } as const;
const PROMISE = '<promise>DONE</promise>';

const completion = (text: string) => readSignals(text, SIGNAL_LOOP).completion;
const findings = (text: string) => readSignals(text, SIGNAL_LOOP).findings;
const states = (text: string) => readSignals(text, SIGNAL_LOOP).states;

function eachCounts(cases: Record<string, string>): void {
  for (const [name, text] of Object.entries(cases)) {
    test(name, () => assert.equal(completion(text), 'claimed', JSON.stringify(text)));
  }
}

function eachIsMisplaced(cases: Record<string, string>): void {
  for (const [name, text] of Object.entries(cases)) {
    test(name, () => assert.equal(completion(text), 'misplaced', JSON.stringify(text)));
  }
}

describe('a completion signal counts when it stands alone on its line', () => {
  eachCounts({
    'as the whole message': SIGNAL,
    'as the last line': `All tests pass.\n${SIGNAL}`,
    'as the first line, with text after it': `${SIGNAL}\n\nAll tests pass.`,
    'with CRLF line ends': `All tests pass.\r\n${SIGNAL}\r\nBye.\r\n`,
    'with lone carriage returns': `All tests pass.\r${SIGNAL}\rBye.`,
    'behind one space': ` ${SIGNAL}`,
    'behind three spaces': `   ${SIGNAL}`,
    'before trailing white space': `${SIGNAL} \t `,
    'with a trailing full stop': `${SIGNAL}.`,
    'with a trailing exclamation mark': `${SIGNAL}!`,
    'with three exclamation marks': `${SIGNAL}!!!`,
    'as a bullet with a dash': `- ${SIGNAL}`,
    'as a bullet with a star': `* ${SIGNAL}`,
    'as a bullet with a plus': `+ ${SIGNAL}`,
    'as a numbered item with a point': `1. ${SIGNAL}`,
    'as a numbered item with a bracket': `12) ${SIGNAL}`,
    'as a heading': `# ${SIGNAL}`,
    'as a heading of the sixth level': `###### ${SIGNAL}`,
    'in bold': `**${SIGNAL}**`,
    'in italics': `*${SIGNAL}*`,
    'in bold italics': `***${SIGNAL}***`,
    'between underscores': `_${SIGNAL}_`,
    'between double underscores': `__${SIGNAL}__`,
    'in bold of both kinds': `**_${SIGNAL}_**`,
    'in bold with the full stop inside': `**${SIGNAL}.**`,
    'in bold with the full stop outside': `**${SIGNAL}**.`,
    'in bold with both': `**${SIGNAL}!**.`,
    'in bold with spaces inside': `** ${SIGNAL} **`,
    'as an item in bold with a full stop': `  3. **${SIGNAL}**.`,
    'under emphasis that begins here and ends further down': `**${SIGNAL}\nand more**`,
    'after a fence that was closed': `\`\`\`\ncode\n\`\`\`\n${SIGNAL}`,
    'after a quote': `> somebody said\n\n${SIGNAL}`,
    'twice, once in a sentence and once alone': `I will write ${SIGNAL} now.\n${SIGNAL}`,
    'on a line of its own beside one that only quotes it': `> ${SIGNAL}\n\n${SIGNAL}`,
  });
});

describe('a completion signal does not count', () => {
  eachIsMisplaced({
    'inside a sentence': `I cannot write ${SIGNAL} yet.`,
    'at the end of a sentence': `Next time I will say ${SIGNAL}`,
    'before more words': `${SIGNAL} is what I would say if it were so.`,
    'with a question mark': `${SIGNAL}?`,
    'with a colon': `${SIGNAL}:`,
    'with a label before it': `Result: ${SIGNAL}`,
    'in a fence of backticks': `\`\`\`\n${SIGNAL}\n\`\`\``,
    'in a fence of tildes': `~~~text\n${SIGNAL}\n~~~`,
    'in a fence that is never closed': `\`\`\`\nlog\n\`\` \n${SIGNAL}`,
    'in a fence that another kind of marks does not close': `~~~\n\`\`\`\n${SIGNAL}\n~~~`,
    'in a fence that fewer marks do not close': `\`\`\`\`\n\`\`\`\n${SIGNAL}\n\`\`\`\``,
    'in a fence that marks with an info string do not close': `\`\`\`\n\`\`\`js\n${SIGNAL}\n\`\`\``,
    'in a fence whose info string holds a line separator': `\`\`\`js\u2028x\n${SIGNAL}\n\`\`\``,
    'in a fence that begins a list item': `- \`\`\`\n  ${SIGNAL}\n  \`\`\``,
    'in inline code': `\`${SIGNAL}\``,
    'in inline code of two backticks': `\`\` ${SIGNAL} \`\``,
    'beside inline code': `\`npm test\` ${SIGNAL}`,
    'before inline code': `${SIGNAL} \`npm test\``,
    'in a block quote': `> ${SIGNAL}`,
    'in an indented block quote': `   > ${SIGNAL}`,
    'in a quote inside a list item': `- > ${SIGNAL}`,
    'behind four spaces': `    ${SIGNAL}`,
    'behind a tab': `\t${SIGNAL}`,
    'behind two spaces and a tab': `  \t${SIGNAL}`,
    'struck out': `~~${SIGNAL}~~`,
    'behind two list marks': `- - ${SIGNAL}`,
    'as a heading without its space': `#${SIGNAL}`,
    'as a heading of a seventh level': `####### ${SIGNAL}`,
    'behind four emphasis marks': `****${SIGNAL}****`,
    'before emphasis that nothing opened': `${SIGNAL}**`,
    'between emphasis marks that do not match': `**${SIGNAL}__`,
    'as part of a longer word': `${SIGNAL}_AT_ALL`,
    'as the end of a longer word': `NOT${SIGNAL}`,
    'on a line that goes on behind a line separator': `${SIGNAL}\u2028but not yet`,
    'twice on one line': `${SIGNAL} ${SIGNAL}`,
  });

  test('in another case, which is not recognised at all', () => assert.equal(completion(SIGNAL.toLowerCase()), 'none'));
  test('that is absent', () => assert.equal(completion('All tests pass.'), 'none'));
  test('in an empty message', () => assert.equal(completion(''), 'none'));
});

describe('a custom signal', () => {
  const own = (text: string, line: string) =>
    readSignals(line, { completion: { kind: 'signal', text }, signalMatch: 'line' }).completion;

  for (const text of [
    '**DONE**',
    '# DONE',
    '- DONE',
    'DONE!',
    '__DONE__',
    '1. DONE',
    'DONE.',
    'ALL DONE',
    '*',
    '«fertig»',
  ]) {
    test(`counts when the line is exactly ${text}`, () => assert.equal(own(text, `Text.\n${text}\n`), 'claimed'));
  }
  test('that ends in a punctuation mark may be followed by one more', () =>
    assert.equal(own('DONE!', '**DONE!**!'), 'claimed'));
  test('does not count without its punctuation mark', () => assert.equal(own('DONE!', 'DONE'), 'none'));
});

describe('a promise', () => {
  const promise = (text: string) => readSignals(text, PROMISE_LOOP).completion;

  test('counts alone on its line', () => assert.equal(promise(`Done.\n${PROMISE}`), 'claimed'));
  test('counts in bold and as an item', () => assert.equal(promise(`- **${PROMISE}**`), 'claimed'));
  test('does not count inside a sentence', () => assert.equal(promise(`I give ${PROMISE} now`), 'misplaced'));
  test('does not count without its tag', () => assert.equal(promise('DONE'), 'none'));
  test('counts with white space inside its tag', () => {
    for (const text of ['<promise> DONE </promise>', '<promise>\n  DONE\n</promise>', '**<promise>DONE </promise>**'])
      assert.equal(promise(text), 'claimed', text);
    const two = { completion: { kind: 'promise', text: 'ALL DONE' }, signalMatch: 'line' } as const;
    assert.equal(readSignals('<promise>ALL  DONE</promise>', two).completion, 'claimed');
    assert.equal(promise('I give <promise> DONE </promise> now'), 'misplaced');
    assert.equal(promise('```\n<promise> DONE </promise>\n```'), 'misplaced');
  });
  test('in another case or text is reported as a near miss', () => {
    const nearMiss = (text: string) => readSignals(text, PROMISE_LOOP).nearMiss;
    assert.equal(nearMiss('All good.\n<promise> done </promise>'), '<promise>done</promise>');
    assert.equal(nearMiss('<promise>ALMOST</promise>'), '<promise>ALMOST</promise>');
    for (const text of [PROMISE, `<promise>done</promise> ${PROMISE}`]) assert.equal(nearMiss(text), undefined, text);
  });
  test('without its tags, in other tags or in code is reported as a near miss', () => {
    const completion = { kind: 'promise', text: 'ALL DONE' } as const;
    const nearMiss = (text: string) => readSignals(text, { completion, signalMatch: 'line' }).nearMiss;
    for (const line of [
      'ALL DONE',
      '**ALL DONE**.',
      '> ALL DONE',
      '- ALL DONE!',
      '`ALL DONE`',
      'Promise: ALL DONE',
      '<promise>ALL DONE',
      '<Promise>all done</Promise>',
      '<completion_promise>ALL DONE</completion_promise>',
      '[promise]ALL DONE[/promise]',
      '`<promise>all done</promise>`',
    ])
      assert.equal(nearMiss(`I have finished.\n${line}\n`), line, line);
    assert.equal(nearMiss('```\nALL DONE\n```'), 'ALL DONE');
    assert.equal(nearMiss('<promise>OTHER</promise>\nALL DONE'), '<promise>OTHER</promise>');
    for (const text of ['It is not all done.', 'all done', 'I am ALL DONE with this', 'Work.', 'ALL DONE'.repeat(20)])
      assert.equal(nearMiss(text), undefined, `control: ${text}`);
    const signal = { completion: { kind: 'signal', text: 'FINISHED' }, signalMatch: 'line' } as const;
    assert.equal(readSignals('<promise>FINISHED</promise>', signal).completion, 'misplaced');
  });
  test('does not count with another text', () => assert.equal(promise('<promise>ALMOST</promise>'), 'none'));
  test('does not count in code', () => assert.equal(promise(`\`${PROMISE}\``), 'misplaced'));
  test('gives the completion signal no meaning', () => assert.equal(promise(SIGNAL), 'none'));
});

describe('signal_match: anywhere', () => {
  const loose = (text: string) => readSignals(text, { ...SIGNAL_LOOP, signalMatch: 'anywhere' }).completion;

  test('counts a signal inside a sentence', () => assert.equal(loose(`So I say ${SIGNAL} now.`), 'claimed'));
  test('still ignores code', () => assert.equal(loose(`\`\`\`\n${SIGNAL}\n\`\`\``), 'misplaced'));
  test('counts nothing if it is absent', () => assert.equal(loose('Go on.'), 'none'));
});

describe('a loop without a completion form', () => {
  const none = (text: string) => readSignals(text, { completion: { kind: 'none' }, signalMatch: 'anywhere' });

  test('takes no text for a claim', () => assert.equal(none(`${SIGNAL}\n${PROMISE}`).completion, 'none'));
  test('still reads findings and states', () => {
    const read = none('RALPH_ITERATION_COMPLETE: 3 findings remain\n<!-- ralph:state idle -->');
    assert.deepEqual(read, { completion: 'none', findings: 3, states: ['idle'] });
  });
  test('ignores the word null', () => {
    assert.equal(none('null\n<!-- ralph:state idle -->').completion, 'none');
    assert.equal(none('The value is null. <!-- ralph:state idle -->').completion, 'none');
  });
  test('has no text to ask for', () => assert.equal(completionText({ kind: 'none' }), null));
});

describe('a findings count is read from', () => {
  const cases: [string, string, number][] = [
    ['the plain form', 'RALPH_ITERATION_COMPLETE: 3 findings remain', 3],
    ['the singular', 'RALPH_ITERATION_COMPLETE: 1 finding remains', 1],
    ['a line that goes on', 'RALPH_ITERATION_COMPLETE: 3 findings remain open.', 3],
    ['zero', 'RALPH_ITERATION_COMPLETE: 0 findings remain', 0],
    ['a number of nine digits', 'RALPH_ITERATION_COMPLETE: 123456789 findings remain', 123456789],
    ['no space after the colon', 'RALPH_ITERATION_COMPLETE:3 findings remain', 3],
    ['a bullet', '- RALPH_ITERATION_COMPLETE: 4 findings remain', 4],
    ['a heading', '## RALPH_ITERATION_COMPLETE: 4 findings remain', 4],
    ['a bullet with more spaces', '*   RALPH_ITERATION_COMPLETE: 4 findings remain', 4],
    ['bold', '**RALPH_ITERATION_COMPLETE: 5 findings remain**', 5],
    ['italics of underscores', '_RALPH_ITERATION_COMPLETE: 5 findings remain_', 5],
    ['a bold label', '**RALPH_ITERATION_COMPLETE:** 6 findings remain', 6],
    ['a bold label with the colon outside', '**RALPH_ITERATION_COMPLETE**: 6 findings remain', 6],
    ['a bold number', 'RALPH_ITERATION_COMPLETE: **7** findings remain', 7],
    [
      'the last one of several',
      'RALPH_ITERATION_COMPLETE: 8 findings remain\nRALPH_ITERATION_COMPLETE: 2 findings remain',
      2,
    ],
    ['a CRLF line', 'text\r\nRALPH_ITERATION_COMPLETE: 9 findings remain\r\n', 9],
  ];
  for (const [name, text, count] of cases) test(name, () => assert.equal(findings(text), count));
});

describe('no findings count is read from', () => {
  const cases: Record<string, string> = {
    'a sentence': 'I say RALPH_ITERATION_COMPLETE: 3 findings remain',
    'a quote': '> RALPH_ITERATION_COMPLETE: 3 findings remain',
    'inline code': '`RALPH_ITERATION_COMPLETE: 3 findings remain`',
    'a fence': '```\nRALPH_ITERATION_COMPLETE: 3 findings remain\n```',
    'another case': 'ralph_iteration_complete: 3 findings remain',
    'a missing number': 'RALPH_ITERATION_COMPLETE: no findings remain',
    'a negative number': 'RALPH_ITERATION_COMPLETE: -3 findings remain',
    'a number no counter can hold': 'RALPH_ITERATION_COMPLETE: 1234567890 findings remain',
    'another word': 'RALPH_ITERATION_COMPLETE: 3 findings remaining',
    'a missing verb': 'RALPH_ITERATION_COMPLETE: 3 findings',
    'the name alone': 'RALPH_ITERATION_COMPLETE',
    'an ordinary message': 'All tests pass.',
  };
  for (const [name, text] of Object.entries(cases)) test(name, () => assert.equal(findings(text), null));
});

describe('a state marker', () => {
  const cases: [string, string, string[]][] = [
    ['is read at the end of a message', 'Nothing to do.\n<!-- ralph:state idle -->', ['idle']],
    ['is read inside a line', 'Nothing to do. <!-- ralph:state idle --> Bye.', ['idle']],
    ['is read without white space', '<!--ralph:state idle-->', ['idle']],
    ['is read with much white space', '<!--   ralph:state\t  idle   -->', ['idle']],
    ['is read over several lines', '<!--\nralph:state\nidle\n-->', ['idle']],
    ['may have digits, underscores and dashes in its name', '<!-- ralph:state on-hold_2 -->', ['on-hold_2']],
    ['is listed once', '<!-- ralph:state idle --><!-- ralph:state idle -->', ['idle']],
    ['stands beside others in order', '<!-- ralph:state blocked -->\n<!-- ralph:state idle -->', ['blocked', 'idle']],
    ['is not read from inline code', '`<!-- ralph:state idle -->`', []],
    ['is not read from a fence', '```html\n<!-- ralph:state idle -->\n```', []],
    ['is not read from a quote', '> <!-- ralph:state idle -->', []],
    ['is not read from indented code', '    <!-- ralph:state idle -->', []],
    ['is not read in capitals', '<!-- ralph:state IDLE -->', []],
    ['is not read with a name that begins with a digit', '<!-- ralph:state 2nd -->', []],
    ['is not read without a space before its name', '<!-- ralph:stateidle -->', []],
    ['is not read with two names', '<!-- ralph:state idle now -->', []],
    ['is not read without its end', '<!-- ralph:state idle', []],
  ];
  for (const [name, text, names] of cases) test(name, () => assert.deepEqual(states(text), names));
});

describe('a text for the completion signal', () => {
  test('is one line of plain words', () => {
    for (const text of ['DONE', 'ALL TESTS PASS', 'fertig, ganz']) assert.equal(signalProblem(text), null, text);
    assert.equal(promiseProblem('DONE'), null);
  });
  test('is not empty and has no white space around it', () => {
    for (const text of ['', ' ', '\t']) {
      assert.equal(signalProblem(text), 'must not be empty');
      assert.equal(promiseProblem(text), 'must not be empty');
    }
    for (const text of [' DONE', 'DONE ', 'DONE\t']) {
      assert.equal(signalProblem(text), 'must not begin or end with white space');
    }
  });
  test('has no line end of any kind', () => {
    for (const end of ['\n', '\r', '\u0085', '\u2028', '\u2029']) {
      assert.equal(signalProblem(`A${end}B`), 'must be one line');
      assert.equal(promiseProblem(`A${end}B`), 'must be one line');
    }
  });
  test('has no Markdown around it, with which it could never match', () => {
    const why = 'must be plain text: with Markdown marks around it, it could never count on a line of its own';
    for (const text of ['`DONE`', '> DONE', '```']) assert.equal(signalProblem(text), why, text);
    assert.equal(promiseProblem('`A`'), why);
  });
  test('has no angle brackets in a promise', () => {
    for (const text of ['<DONE', 'DONE>']) assert.equal(promiseProblem(text), 'must have no angle brackets');
    assert.equal(signalProblem('a < b'), null);
  });
});
