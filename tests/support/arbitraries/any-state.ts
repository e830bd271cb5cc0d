import { SCHEMA_VERSION } from '../../../src/engine/schema/constants.ts';
import { type CommonState, type LoopState, pauseReason, terminalStatus } from '../../../src/engine/schema/state.ts';
import fc from '../property.ts';
import { anyInstant } from './arbitraries.ts';

const count = fc.oneof(fc.nat({ max: 30 }), fc.constantFrom(0, 1, 100, 2 ** 40));
const text = fc.constantFrom('', 'a', 'b');
const texts = fc.array(text, { maxLength: 2 });
const streak = fc.record({ value: fc.option(text), repeats: fc.nat({ max: 5 }) });
const notices = fc.record({ rejection: texts, misplacedSignal: fc.option(text), warnings: texts });
const steering = fc.array(
  fc.record({ id: text, at: anyInstant, text, delivery: fc.constantFrom('now' as const, 'next' as const) }),
  { maxLength: 2 },
);
const milliseconds = fc.constantFrom(0, 0.5, 30_000, 1e18);

/** Keys that states of before had not. */
const later = fc.record(
  {
    progressed: fc.boolean(),
    unknownProgress: count,
    checklist: fc.record({ done: count, total: count }),
    lastReflection: count,
  },
  { requiredKeys: [] },
);

const earlier: fc.Arbitrary<CommonState> = fc.record({
  iteration: count,
  startedAt: anyInstant,
  lastRunAt: anyInstant,
  lastFindingsCount: fc.option(count),
  schemaVersion: fc.constant(SCHEMA_VERSION),
  loopId: fc.constantFrom('l1', 'l2'),
  name: fc.option(text),
  mode: fc.constantFrom('hook' as const, 'router' as const, 'runner' as const),
  epoch: count,
  taskPath: text,
  contractHash: fc.option(text),
  sessionId: fc.option(text),
  clientPid: fc.option(count),
  clientStartedAt: fc.option(text),
  maxIterations: fc.integer({ min: 1, max: 100 }),
  idleIterations: count,
  breaker: fc.record({
    findings: streak,
    sameReply: streak,
    sameRefusal: fc.option(streak, { nil: undefined }),
    sameError: streak,
    noProgress: fc.nat({ max: 5 }),
    denials: fc.nat({ max: 5 }),
    tdd: streak,
  }),
  idle: fc.record({ since: fc.option(anyInstant), consecutive: count, lastCallAt: fc.option(anyInstant) }),
  usage: fc.record({
    inputTokens: count,
    outputTokens: count,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    costUsd: fc.option(fc.constantFrom(0, 0.1, 12)),
    costBaseUsd: fc.option(fc.constantFrom(-3.5, 0, 0.2)),
  }),
  marks: fc.record({
    transcriptPath: fc.option(text),
    transcriptBytes: count,
    subagentBytes: fc.dictionary(fc.constantFrom('a', 'toString', '__proto__'), count),
    lastMessageIds: texts,
    callsBytes: count,
  }),
  lastDecision: fc.option(
    fc.record({
      at: anyInstant,
      kind: fc.constantFrom(
        'started' as const,
        'prompt' as const,
        'wait' as const,
        'verify' as const,
        'allow' as const,
      ),
      detail: text,
    }),
  ),
  lastTurn: fc.option(fc.record({ promptId: fc.option(text), text, transcriptMark: text })),
  inFlight: fc.option(fc.record({ notices, steering })),
  turn: fc.constantFrom('first' as const, 'agent' as const, 'user' as const, 'rest' as const),
  promptId: fc.option(text),
  stopRequested: fc.boolean(),
  steering,
  notices,
  gateFailures: streak,
  warnedBudgets: texts,
  announced: texts,
  waitedOut: texts,
  projectMark: fc.option(text),
});

const common = fc.tuple(earlier, later).map(([state, more]): CommonState => ({ ...state, ...more }));

const statusPart = fc.oneof(
  fc.record({ status: fc.constant('running' as const) }),
  fc.record({
    status: fc.constant('waiting' as const),
    waiting: fc.record(
      {
        since: anyInstant,
        until: anyInstant,
        delayMs: milliseconds,
        last: fc.boolean(),
        woken: fc.boolean(),
        seen: fc.option(text),
        why: fc.constant('pace' as const),
      },
      { requiredKeys: ['since', 'until', 'delayMs', 'last', 'woken', 'seen'] },
    ),
  }),
  fc.record({
    status: fc.constant('verifying' as const),
    verifying: fc.record(
      {
        since: anyInstant,
        failure: fc.record({ as: fc.constantFrom('timeout' as const, 'error' as const), message: text }),
      },
      { requiredKeys: ['since'] },
    ),
  }),
  fc.record({
    status: fc.constant('paused' as const),
    paused: fc.record({
      since: anyInstant,
      reason: fc.constantFrom(...pauseReason.options),
      message: text,
      resumesAt: fc.option(anyInstant),
    }),
  }),
  fc.record({ status: fc.constant('awaiting-consent' as const) }),
  fc.record({
    status: fc.constant('ended' as const),
    ended: fc.record({
      at: anyInstant,
      as: fc.constantFrom(...terminalStatus.options),
      message: text,
      verified: fc.boolean(),
    }),
  }),
);

/** Any state that the schema allows, as it comes out of its file, whether a loop can get there or not. */
export const anyState: fc.Arbitrary<LoopState> = fc
  .tuple(common, statusPart)
  .map(([one, other]) => JSON.parse(JSON.stringify({ ...one, ...other })) as LoopState);
