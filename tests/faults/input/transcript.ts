import fc from '../../support/property.ts';
import type { Damage, Mutation } from './text.ts';
import { anyText, damage, damaged, junk, mutated, mutation, render, written } from './text.ts';

/** A JSON-lines file as generated; `transcriptBytes` writes it out. */
export interface Transcript {
  readonly lines: readonly Line[];
  /** The lines come so often, one block after the other. */
  readonly times: number;
  /** A line of 10 MB that stands before so many of the others, or null. */
  readonly hugeAt: number | null;
  readonly damage: Damage;
}

interface Line {
  readonly entry: object | string;
  readonly mutations: readonly Mutation[];
  readonly end: string;
}

const instant = fc.constantFrom<unknown>('2026-02-28T10:00:00Z', '2999-01-01T00:00:00Z', 'soon', 5);
const promptId = fc.constantFrom<unknown>('p1', 'p2', '');
const tokens = fc.oneof(fc.nat({ max: 500 }), fc.constantFrom<unknown>(-1, 0.5, 1e308, '@number 1e999@', '7'));
const operation = fc.constantFrom('enqueue', 'enqueue', 'dequeue', 'remove', 'popAll', 'x');
const type = fc.constantFrom('text', 'text', 'tool_use', 'thinking');
const block = fc.oneof(fc.record({ type, text: fc.oneof(anyText, junk) }), junk);

/** Entries as the client writes them, whose parts may be anything. */
const entry: fc.Arbitrary<object | string> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('assistant'),
      version: fc.constantFrom<unknown>('2.1.330', '', 5, 'x.y'),
      isSidechain: fc.constantFrom(false, false, true),
      message: fc.record({
        id: fc.constantFrom<unknown>('m1', 'm2', 'm3', 7),
        content: fc.oneof(fc.array(block, { maxLength: 3 }), junk),
        usage: fc.record({ input_tokens: tokens, output_tokens: tokens, cache_read_input_tokens: tokens }),
      }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('assistant'),
      isApiErrorMessage: fc.constant(true),
      error: fc.oneof(fc.constantFrom<unknown>('rate_limit', 'server_error', 'billing_error'), junk),
      // Far ahead: a line that is young enough, or StopFailure waits for it.
      timestamp: fc.constant('2999-01-01T00:00:00Z'),
      quotaLimits: fc.record({ resetsAt: fc.oneof(fc.constantFrom<unknown>(1_800_000_000, 8e12, 3e11, -1), junk) }),
      message: fc.record({ content: fc.oneof(fc.array(block, { maxLength: 2 }), junk) }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('user'),
      promptId,
      isMeta: fc.constantFrom(false, true),
      promptSource: fc.constantFrom<unknown>('typed', 'sdk', 'queued', 5),
      message: fc.record({ content: fc.oneof(fc.constant('<bash-input>ls'), anyText, junk) }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('system'),
      timestamp: instant,
      content: fc.oneof(fc.constant('Stop hook blocked the turn from ending 8 times: overriding'), junk),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('queue-operation'),
      operation,
      content: fc.oneof(fc.constantFrom('hello', '<task-notification><task-id>t1</task-id>'), anyText, junk),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      loopId: fc.constantFrom<unknown>('loop-1', 'l1', 5),
      callId: junk,
      phase: fc.constantFrom('asked', 'done', 'failed', 'denied'),
      iteration: fc.oneof(fc.nat({ max: 40 }), junk),
      endedAt: instant,
    }),
  },
  { weight: 2, arbitrary: anyText },
);

const line: fc.Arbitrary<Line> = fc.record({
  entry,
  mutations: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(mutation, { maxLength: 2 }) },
  ),
  end: fc.oneof(
    { weight: 9, arbitrary: fc.constant('\n') },
    { weight: 3, arbitrary: fc.constantFrom('\r\n', '', '\n\n', '\u2028\n', '\0\n', '\u2028', '\r', '  \n') },
  ),
});

export const transcript: fc.Arbitrary<Transcript> = fc.record({
  lines: fc.array(line, { maxLength: 8 }),
  times: fc.oneof({ weight: 1_200, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.constantFrom(300, 10_000) }),
  hugeAt: fc.oneof({ weight: 4_000, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat({ max: 8 }) }),
  damage,
});

const HUGE = 10 * 1024 * 1024;
const ROOM = 2 * 1024 * 1024;
const hugeLine = `{"type":"assistant","message":{"id":"m9","usage":{"input_tokens":1},"content":[{"type":"text","text":"${'x'.repeat(HUGE)}"}]}}\n`;

/** The bytes of a generated file: at most one line of 10 MB, and no more than 2 MB beside it. */
export function transcriptBytes({ lines, times, hugeAt, damage: how }: Transcript): Buffer {
  const texts = lines.map(({ entry: value, mutations, end }) => {
    const text = typeof value === 'string' ? written(value) : render(mutated(value, mutations));
    return text + end;
  });
  if (hugeAt !== null) return damaged(texts.slice(0, hugeAt).join('') + hugeLine + texts.slice(hugeAt).join(''), how);
  const once = texts.join('');
  return damaged(once.repeat(Math.max(1, Math.min(times, Math.floor(ROOM / Math.max(1, once.length))))), how);
}
