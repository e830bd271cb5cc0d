import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunnerEvent } from '../../src/engine/runner-event.ts';
import { painter, printable } from '../../src/term/format.ts';
import { frameOf } from '../../src/term/live/frame.ts';
import { EDITS, inserted, type Key, NEW_INPUT, readKeys, sent } from '../../src/term/live/input.ts';
import { NOTHING_DRAWN, nextPicture } from '../../src/term/live/live-terminal.ts';
import { nextView } from '../../src/term/live/next-view.ts';
import { NEW_VIEW, rowCells } from '../../src/term/live/view.ts';
import { cells, wrap } from '../../src/term/write-text.ts';
import fc, { runs } from '../support/property.ts';
import { liveScreen, NO_COLOURS, START } from '../support/terminal/live-screen.ts';

const words = fc.constantFrom(
  ...[
    'work',
    'a',
    'and so on',
    '\n',
    '\n\n',
    '\t',
    '  ',
    '漢字かな',
    '👩‍👩‍👧',
    'é',
    '\u001b[31m',
    '\u001b[',
    '\u0007',
    '\u202e',
  ],
  ...[
    'x'.repeat(300),
    '🇩🇪',
    '✅',
    '한글',
    'नमस्ते',
    '\u001b]8;;http://x\u0007link',
    '\r',
    '\ud800',
    'https://example.org/a/b',
  ],
);
const said = fc.array(words, { maxLength: 12 }).map((parts) => parts.join(''));
const ids = fc.constantFrom('a', 'b', 'c');
const amount = fc.nat({ max: 10_000_000 });
const instant = fc.integer({ min: -100_000, max: 10_000_000 }).map((ms) => new Date(START + ms).toISOString());
const usage = fc.record({
  inputTokens: amount,
  outputTokens: amount,
  cacheReadTokens: amount,
  cacheWriteTokens: amount,
});
const cost = fc.option(fc.double({ min: 0, max: 1_000, noNaN: true }));
const c = <T extends string>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const call = { id: ids, tool: said, about: said, nested: fc.boolean() };

const anyEvent: fc.Arbitrary<RunnerEvent> = fc.oneof(
  fc.record({
    ...{ type: c('run.started'), loopId: said, name: fc.option(said), taskPath: said, iteration: amount },
    ...{ maxIterations: amount, startedAt: instant, costUsd: cost, usage },
  }),
  fc.record({ type: c('iteration.started'), begins: amount, maxIterations: amount }),
  fc.record({ type: c('command.started'), name: said }),
  fc.record({ type: c('command.ran'), name: said, outcome: c('ok', 'failed'), durationMs: amount }),
  fc.record({ type: c('agent.text-delta'), text: said }),
  fc.record({ type: c('agent.text-delta'), text: said }),
  fc.record({ type: c('agent.text'), text: said, streamed: fc.boolean() }),
  fc.record({ type: c('tool.started'), ...call }),
  fc.record({ type: c('tool.ended'), ...call, outcome: c('ok', 'failed'), durationMs: amount }),
  fc.record({ type: c('agent.usage'), tokens: amount, context: amount, window: fc.option(amount) }),
  fc.record({ type: c('agent.checklist'), done: amount, total: amount }),
  fc.record({
    type: c('steering.pending'),
    texts: fc.array(fc.record({ id: ids, text: said, delivery: c('now', 'next') }), { maxLength: 6 }),
  }),
  fc.record({ type: c('steering.sent'), texts: fc.array(said, { maxLength: 3 }) }),
  fc.record({ type: c('agent.interrupting', 'verification.started') }),
  fc.record({ type: c('agent.after-iteration'), next: c('stop', 'pause', 'go-on') }),
  fc.record({ type: c('loop.paused'), reason: c('operator', 'interrupted') }),
  fc.record({ type: c('agent.notice'), message: said }),
  fc.record({
    ...{ type: c('agent.ended'), iteration: amount, outcome: c('ok', 'crashed'), message: said, durationMs: amount },
    ...{
      turns: fc.option(amount),
      toolCalls: amount,
      model: fc.constant(null),
      costUsd: cost,
      usage: fc.option(usage),
    },
  }),
  fc.record({ type: c('wait.started'), why: c('idle', 'pace', 'rate-limit', 'retry'), until: instant }),
  fc.record({
    ...{ type: c('run.ended'), status: c('complete', 'paused'), message: said, code: amount },
    ...{ iterations: amount, costUsd: cost },
  }),
) as fc.Arbitrary<RunnerEvent>;

const size = fc.record({ columns: fc.integer({ min: 10, max: 250 }), rows: fc.integer({ min: 1, max: 60 }) });
const input = said.map((text) => inserted(NEW_INPUT, printable(text).replaceAll('\t', ' ')));

const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/;

test('no row is ever wider than the terminal, and the footer is never higher and contains the cursor', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 30 }), input, size, (events, line, room) => {
      const view = events.reduce((now, event, index) => nextView(now, event, START + index * 700), NEW_VIEW);
      const at = START + 30_000;
      const { output } = nextPicture(NOTHING_DRAWN, { view, input: line, size: room, at }, NO_COLOURS);
      const printed = output.slice(output.indexOf('\u001b[J\r') + 4, output.indexOf('\u001b[?7l')).split('\r\n');
      for (const row of printed) {
        assert.ok(cells(row) <= room.columns, JSON.stringify(row));
        assert.doesNotMatch(row, UNSEEN);
      }
      const { rows, cursor } = frameOf({ ...view, lines: [] }, line, room, at);
      assert.ok(rows.length <= room.rows, `${rows.length} rows`);
      for (const row of rows) {
        assert.ok(rowCells(row) < room.columns, JSON.stringify(row));
        for (const { text } of row) assert.doesNotMatch(text, UNSEEN);
      }
      assert.ok(cursor.row < rows.length && cursor.column < room.columns);
    }),
  );
});

test('wrapping a line loses only the spaces at its breaks, and no row is wider than the terminal', () => {
  const text = said.map((one) => one.replace(/[\u0000-\u001f]/g, ''));
  fc.assert(
    fc.property(text, fc.integer({ min: 2, max: 250 }), (line, columns) => {
      const rows = wrap(line, columns);
      for (const row of rows) assert.ok(cells(row.text) <= columns, row.text);
      assert.equal(
        rows
          .map(({ text: row }) => row)
          .join('')
          .replaceAll(' ', ''),
        line.replaceAll(' ', ''),
      );
    }),
  );
});

test('printed rows stay unchanged when more text arrives', () => {
  const text = said.map((one) => one.replace(/[\u0000-\u001f]/g, ''));
  fc.assert(
    fc.property(text, text, fc.integer({ min: 2, max: 80 }), (one, more, columns) => {
      // A mark that joins the last character changes that one alone.
      const before = wrap(one, columns).slice(0, -2);
      assert.deepEqual(wrap(one + more, columns).slice(0, before.length), before);
    }),
  );
});

test('all text is in the terminal once, in order, at any width and however often the footer is drawn', async () => {
  const step = fc.tuple(anyEvent, fc.boolean());
  // A terminal may draw a family wider than the two cells that it has.
  const family: RunnerEvent = { type: 'agent.text-delta', text: '👩‍👩‍👧  漢字かな  work' };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), size, async (steps, { columns, rows: high }) => {
      const room = { columns, rows: Math.max(4, high) };
      const often = liveScreen(room, painter(true, {}));
      const once = liveScreen(room);
      for (const [event, draws] of steps) {
        often.tell(event);
        once.tell(event);
        if (draws) often.draw();
      }
      // Nothing may have been left to the last moment but what is still open.
      assert.deepEqual(await often.close().rows(), await once.close().rows());
    }),
    { numRuns: runs(150), examples: [[[[family, true]], { columns: 13, rows: 4 }]] },
  );
});

test("however the keyboard's bytes are split, the same keys come out and nothing is left", async () => {
  const key = fc.constantFrom(
    'a',
    'é',
    '\r',
    '\n',
    '\u001b',
    '\u001b[A',
    '\u001bOB',
    '\u001b[1;5C',
    '\u001b\r',
    '\u0003',
  );
  const paste = said.map((text) => `\u001b[200~${text.replaceAll('\u001b', '')}\u001b[201~`);
  const texts = (keys: readonly Key[]): string =>
    keys.map((one) => ('text' in one ? one.text : JSON.stringify(one))).join('');
  const terminals: { readonly input: PassThrough; readonly keys: Key[]; readonly stop: () => void }[] = [];
  const press = (chunks: readonly string[]): Key[] => {
    const [input, keys] = [new PassThrough(), [] as Key[]];
    terminals.push({ input, keys, stop: readKeys(input, (one) => keys.push(one)) });
    for (const chunk of chunks) input.emit('data', chunk);
    return keys;
  };
  fc.assert(
    fc.property(fc.array(fc.oneof(key, paste)), fc.array(fc.nat()), (parts, cuts) => {
      const all = parts.join('');
      const places = [...new Set(cuts.map((at) => at % (all.length + 1)))].sort((a, b) => a - b);
      const pieces = press([0, ...places].map((from, index) => all.slice(from, places[index] ?? all.length)));
      // A line end of two characters may come in two pieces.
      assert.equal(texts(pieces).replace(/\n+/g, '\n'), texts(press([all])).replace(/\n+/g, '\n'));
    }),
  );
  await sleep(100);
  for (const { input, keys, stop } of terminals) {
    input.emit('data', 'q');
    stop();
    assert.deepEqual(keys.at(-1), { kind: 'text', text: 'q' }, 'nothing was left of what came before');
  }
});

test('whatever keys edit the line, the cursor stays in it, between two characters', () => {
  const edits = [
    ...(['left', 'right', 'word-left', 'word-right', 'home', 'end', 'up', 'down'] as const),
    ...(['backspace', 'delete', 'delete-word', 'delete-before', 'delete-after'] as const),
  ];
  const action = fc.oneof(fc.constantFrom(...edits), said, fc.constant('sent' as const));
  fc.assert(
    fc.property(fc.array(action), (actions) => {
      let line = NEW_INPUT;
      for (const one of actions) {
        if (one === 'sent') line = sent(line);
        else if ((edits as readonly string[]).includes(one)) line = EDITS[one as (typeof edits)[number]](line);
        else line = inserted(line, one);
        assert.ok(line.at >= 0 && line.at <= line.text.length, `${line.at} of ${line.text.length}`);
      }
    }),
  );
});
