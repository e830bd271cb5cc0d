import type { CheckResult, EngineEvent, OperatorCommand } from '../../../src/engine/events.ts';
import type { Policy } from '../../../src/engine/schema/contract.ts';
import { pauseReason } from '../../../src/engine/schema/state.ts';
import fc, { binaryText } from '../property.ts';

export const SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const DAY = 86_400_000;
const BEGIN = Date.UTC(2026, 1, 28, 10);

/** The instant so many milliseconds after the loops of these tests begin. */
export function instantAt(milliseconds: number): string {
  return new Date(BEGIN + milliseconds).toISOString();
}

/** Instants as a state file can hold them, those included that no calendar has. */
export const anyInstant: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -DAY, max: DAY }).map(instantAt) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '2026-02-28T10:00:00Z',
      '2026-02-28T10:00:00.123456789Z',
      '2026-13-45T99:99:99Z',
      '2026-02-30T10:00:00Z',
      '0000-01-01T00:00:00Z',
      '9999-12-31T23:59:59.999Z',
    ),
  },
);

/** A final message and what it means to a loop whose completion form is the signal (`own`) or another. */
export interface Reply {
  readonly text: string;
  readonly claims: 'alone' | 'in a sentence' | 'no';
  readonly findings: number | null;
  readonly idle: boolean;
  /** Equal for replies that are repetitions of each other. */
  readonly same: (own: boolean) => string;
}

function reply(text: string, same: string | ((own: boolean) => string), more: Partial<Reply> = {}): Reply {
  return {
    text,
    claims: 'no',
    findings: null,
    idle: false,
    same: typeof same === 'string' ? () => same : same,
    ...more,
  };
}

const IDLE = '<!-- ralph:state idle -->';

export const modelReply: fc.Arbitrary<Reply> = fc.oneof(
  { weight: 3, arbitrary: fc.nat({ max: 99 }).map((n) => reply(`Did step ${n}.`, `step ${n}`)) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      reply('Still failing.', 'failing'),
      reply(' still  FAILING', 'failing'),
      reply('', ''),
      reply('\u2028 ?!', ''),
      reply('\u{1F642}', 'smile'),
      reply('<!-- ralph:state busy -->', ''),
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.nat({ max: 2 }), fc.nat({ max: 99 }), fc.boolean())
      .map(([n, step, idle]) =>
        reply(
          `Step ${step}.\r\n- **RALPH_ITERATION_COMPLETE: ${n} findings remain**${idle ? `\n${IDLE}` : ''}`,
          `step ${step} of ${n}`,
          { findings: n, idle },
        ),
      ),
  },
  {
    weight: 5,
    arbitrary: fc.constantFrom(reply(IDLE, '', { idle: true }), reply(`Nothing.\n${IDLE}`, 'nothing', { idle: true })),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      reply(SIGNAL, (own) => (own ? '' : 'signal'), { claims: 'alone' }),
      reply(`**${SIGNAL}**.`, (own) => (own ? '' : '**signal'), { claims: 'alone' }),
      reply(`${SIGNAL}\n${IDLE}`, (own) => (own ? '' : 'signal'), { claims: 'alone', idle: true }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      reply(`I say ${SIGNAL} later.`, 'later', { claims: 'in a sentence' }),
      reply(`\`\`\`\n${SIGNAL}\n\`\`\``, 'fence'),
    ),
  },
);

export const anyText: fc.Arbitrary<string> = fc.oneof(
  modelReply.map(({ text }) => text),
  binaryText({ maxLength: 40 }),
);

const tokens = fc.nat({ max: 500 });
const usageDelta = fc.option(
  fc.record({ inputTokens: tokens, outputTokens: tokens, cacheReadTokens: tokens, cacheWriteTokens: tokens }),
);

export const checkResults: fc.Arbitrary<CheckResult[]> = fc.array(
  fc.record({
    name: fc.constantFrom('tests', 'types', 'lint'),
    outcome: fc.constantFrom(
      ...(['ok', 'ok', 'ok', 'failed', 'timeout', 'vacuous', 'changed', 'unavailable'] as const),
    ),
    detail: fc.constantFrom('', 'exit 1', 'x'.repeat(400)),
  }),
  { maxLength: 3 },
);

export const operatorCommand: fc.Arbitrary<OperatorCommand> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('stop' as const), clientAlive: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'cancel' as const }) },
  {
    weight: 9,
    arbitrary: fc.constantFrom(
      { kind: 'pause' as const },
      { kind: 'resume' as const },
      { kind: 'resume' as const, by: 'launcher' as const },
      { kind: 'resume' as const, renewed: { contractHash: 'hash-3', maxIterations: 60 } },
    ),
  },
  {
    weight: 9,
    arbitrary: fc.constantFrom({ kind: 'wake' as const }, { kind: 'consent' as const, contractHash: 'hash-2' }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('steer' as const),
      id: fc.uuid(),
      text: fc.constantFrom('Look again.', 'Leave the tests alone.'),
      delivery: fc.constantFrom('now' as const, 'next' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('accept' as const),
      id: fc.uuid(),
      changes: fc.constant('a -> b'),
      contractHash: fc.constantFrom('h1', 'h2'),
      maxIterations: fc.integer({ min: 1, max: 60 }),
    }),
  },
);

/** fast-check's `option` is null in one of `freq + 1` cases; here a value is the rare case. */
function seldom<T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });
}

const off = { weight: 5, arbitrary: fc.constant(0) };
const threshold = fc.oneof(off, { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }) });

export const policy: fc.Arbitrary<Policy> = fc.record({
  completion: fc.oneof(
    { weight: 5, arbitrary: fc.constant({ kind: 'signal' as const, text: SIGNAL }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'promise' as const, text: 'DONE' }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'none' as const }) },
  ),
  signalMatch: fc.constantFrom('line' as const, 'anywhere' as const),
  maxIterations: fc.oneof(
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 5 }) },
    { weight: 4, arbitrary: fc.constant(100) },
  ),
  reinject: fc.constant('auto' as const),
  idle: fc.option(
    fc.record({
      delayMs: fc.integer({ min: 1, max: 60_000 }),
      backoff: fc.constantFrom(1, 1.5, 2, 10),
      maxDelayMs: fc.integer({ min: 60_000, max: 300_000 }),
      maxMs: fc.integer({ min: 60_000, max: 3_600_000 }),
      wake: fc.constantFrom('time' as const, 'change' as const),
      watch: fc.constant([]),
      maxQuietMs: fc.option(fc.integer({ min: 1, max: 900_000 })),
    }),
    { freq: 4 },
  ),
  breaker: fc.record({
    findings: threshold,
    noProgress: threshold,
    sameReply: threshold,
    sameError: threshold,
    denials: threshold,
    tdd: threshold,
  }),
  budget: fc.record({
    maxCostUsd: seldom(fc.integer({ min: 1, max: 50 })),
    maxTokens: seldom(fc.integer({ min: 500, max: 20_000 })),
    maxTimeMs: fc.option(fc.integer({ min: 60_000, max: 6 * 3_600_000 }), { freq: 1 }),
    warnAt: fc.constantFrom(0, 0.5, 0.8, 1),
  }),
  backgroundWaitMs: fc.constant(0),
  pace: fc.record({
    delayMs: fc.constantFrom(0, 1_000, 600_000),
    iterationTimeoutMs: fc.constantFrom(null, 60_000),
    stopOnError: fc.boolean(),
    tracksProgress: fc.boolean(),
  }),
});

type Of<T extends EngineEvent['type']> = Extract<EngineEvent, { type: T }>;

/** The part of a finished turn that neither its text nor its delivery fixes. */
export const turn: fc.Arbitrary<Omit<Of<'iteration-ended'>, 'type' | 'at' | 'text' | 'promptId' | 'transcriptMark'>> =
  fc
    .record({
      origin: fc.constantFrom(...(['loop', 'loop', 'loop', 'loop', 'loop', 'user'] as const)),
      toolCalls: fc.nat({ max: 2 }),
      denied: fc.boolean(),
      usage: usageDelta,
      costUsd: fc.option(fc.integer({ min: 0, max: 60 }).map((n) => n / 4)),
      progress: fc.constantFrom('yes' as const, 'no' as const, 'unknown' as const),
      projectMark: fc.option(fc.constantFrom('a', 'b')),
      error: seldom(fc.constantFrom('EACCES', 'timed out')),
      timedOut: fc.integer({ min: 0, max: 6 }).map((n) => n === 0),
      failedShellCalls: fc.constantFrom(0, 2, 3, 9),
      scenario: fc.option(fc.constantFrom('S1', 'S2')),
      seen: fc.option(fc.constantFrom('x', 'y')),
    })
    .map(({ denied, ...rest }) => ({ ...rest, deniedCalls: denied ? rest.toolCalls : 0 }));

export const timeCause = fc.constantFrom(
  ...([
    'elapsed',
    'elapsed',
    'elapsed',
    'elapsed',
    'quiet',
    'quiet',
    'changed',
    'message',
    'notification',
    'deadline',
  ] as const),
);

/** Every other event that needs nothing but its own data. */
export const rareEvent: fc.Arbitrary<
  | Omit<Of<'api-error'>, 'at'>
  | Omit<Of<'interrupted'>, 'at'>
  | Omit<Of<'block-overridden'>, 'at'>
  | Omit<Of<'first-prompt'>, 'at'>
  | Omit<Of<'prompt-made'>, 'at'>
  | Omit<Of<'suspended'>, 'at'>
  | Omit<Of<'task-missing'>, 'at'>
  | Omit<Of<'budget-reached'>, 'at'>
  | Omit<Of<'shared-budget-reached'>, 'at'>
  | Omit<Of<'noticed'>, 'at'>
  | Omit<Of<'waited-out'>, 'at'>
  | Omit<Of<'slept'>, 'at'>
  | Omit<Of<'turn-released'>, 'at'>
> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('api-error' as const),
      error: fc.record({
        kind: fc.constantFrom(
          'rate-limited',
          'rate-limited',
          'authentication',
          'billing',
          'invalid-request',
          'overloaded',
          'other',
        ),
        message: fc.constant('no'),
        resetsAt: fc.option(fc.integer({ min: 0, max: DAY }).map(instantAt)),
      }),
    }) as fc.Arbitrary<Omit<Of<'api-error'>, 'at'>>,
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('interrupted' as const),
      by: fc.constantFrom('signal' as const, 'client-exit' as const),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ type: 'block-overridden' as const }) },
  { weight: 2, arbitrary: fc.constant({ type: 'first-prompt' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('prompt-made' as const),
      outcome: fc.constantFrom('ready' as const, 'given-up' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('suspended' as const),
      reason: fc.constantFrom(...pauseReason.options),
      message: fc.constant('suspended'),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'task-missing' as const, message: 'missing' }) },
  {
    weight: 1,
    arbitrary: fc.constant({
      type: 'budget-reached' as const,
      budget: { name: 'max_cost' as const, used: 1, limit: 1, text: '$1 of $1', more: '2' },
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'shared-budget-reached' as const, reading: '$1 of $1', more: {} }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('noticed' as const),
      key: fc.constantFrom('k1', 'k2', 'k3'),
      warning: fc.constantFrom('one', 'two'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('slept' as const),
      since: fc.integer({ min: 0, max: DAY }).map(instantAt),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('waited-out' as const),
      taskIds: fc.array(fc.constantFrom('t1', 't2'), { maxLength: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('turn-released' as const),
      why: fc.constantFrom('background' as const, 'message' as const),
    }),
  },
);
