import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assemblePrompt, type PromptParts, wholePrompt } from '../../../src/engine/prompt/assemble-prompt.ts';
import { deliverPrompt } from '../../../src/engine/prompt/deliver-prompt.ts';
import { shorten } from '../../../src/text/quote.ts';
import { atLeast } from '../../../src/text/version.ts';
import { SIGNAL } from './support/loop.ts';

const QUIET: PromptParts = {
  iteration: 2,
  maxIterations: 25,
  notices: { rejection: [], misplacedSignal: null, warnings: [] },
  steering: [],
  guardrailsPath: null,
  findings: null,
  taskPath: 'PROMPT.md',
  body: '\n# Task\n\nDo it.\n\n',
  completion: { kind: 'signal', text: SIGNAL },
  idle: false,
};
const assembled = (change: Partial<PromptParts> = {}) => assemblePrompt({ ...QUIET, ...change });

describe('the prompt', () => {
  test('names the iteration, then the task, then how to signal', () => {
    assert.equal(
      wholePrompt(assembled()),
      [
        '[ralph] Iteration 2 of 25. The task is in PROMPT.md.',
        '---',
        '# Task\n\nDo it.',
        '---',
        'How to end your message, each signal alone on a line, outside code and quotes:\n' +
          `- Everything is done and checked: ${SIGNAL}\n` +
          '- Progress, and N findings are still open: RALPH_ITERATION_COMPLETE: N findings remain\n',
      ].join('\n\n'),
    );
  });

  test('puts all notices before the task, in order of importance', () => {
    const { preface } = assembled({
      notices: {
        rejection: ['tests: 2 fail', 'types: 1 error'],
        misplacedSignal: 'Alone on a line.',
        warnings: ['w1', 'w2'],
      },
      steering: [{ text: 'Look again.' }, { text: 'And once more.' }],
      guardrailsPath: 'guardrails.md',
      findings: { claimed: 2, open: 3, problems: [] },
    });
    assert.deepEqual(preface.split('\n\n'), [
      '[ralph] Iteration 2 of 25. The task is in PROMPT.md.',
      '## Your claim of completion was rejected',
      'tests: 2 fail\ntypes: 1 error\nFix this before you claim completion again.',
      'Alone on a line.',
      '## Notices',
      '- w1\n- w2',
      '## The user says',
      'Look again.\nAnd once more.',
      'Read guardrails.md first: it contains the lessons of earlier iterations.',
      'The findings log has 3 open findings; you reported 2.',
    ]);
  });

  test('gives only the real count of findings if the agent claimed it or nothing', () => {
    assert.match(assembled({ findings: { claimed: 1, open: 1, problems: [] } }).preface, /has 1 open finding\.$/);
    assert.match(assembled({ findings: { claimed: null, open: 0, problems: [] } }).preface, /has 0 open findings\.$/);
  });

  test('asks for the promise in a loop with one, and for nothing in a loop without completion', () => {
    assert.match(
      assembled({ completion: { kind: 'promise', text: 'DONE' } }).closing,
      /checked: <promise>DONE<\/promise>/,
    );
    assert.doesNotMatch(assembled({ completion: { kind: 'none' } }).closing, /Everything is done/);
  });

  test('names the idle marker where idle is on', () => {
    assert.match(assembled({ idle: true }).closing, /\n- There is nothing to do right now: <!-- ralph:state idle -->$/);
    assert.doesNotMatch(assembled().closing, /ralph:state/);
  });

  test('does not grow with a rejection or a message that quotes pages', () => {
    const page = 'x'.repeat(90_000);
    const { preface } = assembled({
      notices: { rejection: [page], misplacedSignal: null, warnings: [] },
      steering: [{ text: page }],
    });
    assert.ok(preface.length < 7_000, `${preface.length}`);
    assert.equal(preface.split('[... 90000 characters in all ...]').length, 3);
  });
});

describe('a text that is too long', () => {
  test('keeps its first 70 % and its last 30 %', () => {
    assert.equal(shorten('abcdefghijk', 10), 'abcdefg\n[... 11 characters in all ...]\nijk');
  });
  test('is one above the limit', () => assert.equal(shorten('abcdefghij', 10), 'abcdefghij'));
});

describe('a prompt goes back', () => {
  const client = { taskPath: 'PROMPT.md' };
  const ofLength = (length: number) => {
    const empty = wholePrompt(assembled({ body: '' })).length;
    return assembled({ body: 'x'.repeat(length - empty) });
  };
  const way = (length: number, reinject: Parameters<typeof deliverPrompt>[1], given = client) => {
    const prompt = ofLength(length);
    const whole = wholePrompt(prompt);
    assert.equal(whole.length, length);
    const { reason, context } = deliverPrompt(prompt, reinject, given);
    if (reason === whole && context === null) return 'reason';
    if (context === whole) return reason;
    assert.equal(context, null);
    return 'pointer';
  };
  const SHORT = 'Continue: the task is in the context of this message.';

  test('in the reason up to 4,000 characters', () => assert.equal(way(4_000, 'auto'), 'reason'));
  test('as context up to 9,000', () => assert.deepEqual([way(4_001, 'auto'), way(9_000, 'auto')], [SHORT, SHORT]));
  test('as a pointer beyond', () => assert.equal(way(9_001, 'auto'), 'pointer'));
  test('as context at any length up to 9,000 where the loop says so', () => {
    assert.deepEqual([way(1_000, 'context'), way(9_000, 'context'), way(9_001, 'context')], [SHORT, SHORT, 'pointer']);
  });
  test('in the reason at any length where the loop says so', () => assert.equal(way(99_999, 'reason'), 'reason'));
  test('as a pointer at any length where the loop says so', () => assert.equal(way(1_000, 'pointer'), 'pointer'));

  test('as a pointer with the sections of the task', () => {
    const prompt = assembled({ body: '# One\ntext\n## Two\r\n####### no\n#no\n### Three' });
    const { reason } = deliverPrompt(prompt, 'pointer', client);
    assert.equal(
      reason,
      `${prompt.preface}\n\nRead PROMPT.md now, in full (${prompt.body.length} characters), and follow it.\nIts sections:\n# One\n## Two\n### Three\n\n${prompt.closing}\n`,
    );
  });

  test('as a pointer whose sections end where their lines do, and nowhere else', () => {
    const prompt = assembled({ body: '# One\u2028# still one\r## Two' });
    assert.match(deliverPrompt(prompt, 'pointer', client).reason, /sections:\n# One\u2028# still one\n## Two\n\n/);
  });

  test('as a pointer without sections where the task has none', () => {
    const { reason } = deliverPrompt(assembled({ body: 'Do it.' }), 'pointer', client);
    assert.match(reason, /in full \(6 characters\), and follow it\.\n\nHow to end/);
  });

  test('as a pointer with at most 40 sections of 120 characters', () => {
    const body = Array.from({ length: 50 }, (_, index) => `## ${index} ${'x'.repeat(200)}`).join('\n');
    const lines = deliverPrompt(assembled({ body }), 'pointer', client)
      .reason.split('\n')
      .filter((line) => line.startsWith('## '));
    assert.deepEqual([lines.length, Math.max(...lines.map(({ length }) => length))], [40, 120]);
  });
});

describe('a version', () => {
  const cases: [string | null, string, boolean][] = [
    ['2.1.163', '2.1.163', true],
    ['2.1.164', '2.1.163', true],
    ['2.1.99', '2.1.163', false],
    ['2.2.0', '2.1.163', true],
    ['2.0.999', '2.1.163', false],
    ['3.0.0', '2.1.163', true],
    ['1.9.999', '2.1.163', false],
    ['2.1', '2.1.0', true],
    ['2.1.163-beta.1', '2.1.163', true],
    ['2', '2.1.163', false],
    ['3', '2.1.163', true],
    ['2.1.163', '2.1', true],
    ['unknown', '2.1.163', false],
    [null, '0.0.0', false],
  ];
  for (const [have, need, enough] of cases) {
    test(`${have} is ${enough ? '' : 'not '}at least ${need}`, () => assert.equal(atLeast(have, need), enough));
  }
});
