import { readSignals } from '../../../../src/engine/signals/signals.ts';
import { normalisedReply } from '../../../../src/engine/transitions/iteration-ended.ts';
import { digest } from '../../../../src/text/digest.ts';
import { IS_LONG } from '../../../support/short-form.ts';
import { SIGNAL } from './loop.ts';

/** Reads messages of megabytes that cost a careless pattern quadratic time, which is hours. */
const SIZE = IS_LONG ? 10_000_000 : 2_000_000;
const LOOP = { completion: { kind: 'signal', text: SIGNAL }, signalMatch: 'line' } as const;

const pieces = [
  'x',
  '.',
  ' ',
  '*',
  '_',
  '`',
  '`a',
  '``a`',
  '<!--',
  '<!-- ',
  '<!-- ralph:state ',
  '<!-- ralph:state a-',
  '\n',
  '\r',
  '- ',
  '1. ',
  '#',
  '> ',
  '1',
  '\t',
  SIGNAL,
  `${SIGNAL} `,
  'RALPH_ITERATION_COMPLETE: ',
  'Some words, and more. ',
  '~',
  '«',
];
const messages = pieces.map((piece) => `${piece.repeat(SIZE / piece.length)}x`);
for (const start of [SIGNAL, '<!-- ralph:state ', 'RALPH_ITERATION_COMPLETE: ']) {
  for (const piece of [' ', '*', '.', '-', 'a-', '1']) messages.push(start + piece.repeat(SIZE / piece.length) + start);
}
let runs = '';
for (let length = 1; runs.length < SIZE; length++) runs += `${'`'.repeat(length)}a`;
messages.push(runs, `- \`\`\`\n${runs}`);

for (const message of messages) {
  readSignals(message, LOOP);
  digest(normalisedReply(message, LOOP));
}
