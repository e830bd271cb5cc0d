import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../support/property.ts';
import { TEST_TIMEOUT_MS } from '../support/until.ts';
import { byHook, byRouter, byRunner, type Driver, type TurnOf } from './support/drivers.ts';
import { farClock } from './support/far-clock.ts';

/** RALPH_DRIVER_SEQUENCES=500 is the long form. */
const SEQUENCES = Number(process.env['RALPH_DRIVER_SEQUENCES'] ?? 10);

const CLAIM = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const IDLE = '<!-- ralph:state idle -->';
const FINDINGS = ['RALPH_ITERATION_COMPLETE: 3 findings remain', 'RALPH_ITERATION_COMPLETE: 1 finding remains.'];
/** Signs that stand where they do not count, or that the loop does not know. */
const ODD = [`I do not say ${CLAIM} yet.`, `\`${CLAIM}\``, `> ${CLAIM}`, '<!-- ralph:state blocked -->'];

const signs = fc.oneof(
  { weight: 4, arbitrary: fc.constant<string[]>([]) },
  { weight: 2, arbitrary: fc.constant([CLAIM]) },
  { weight: 4, arbitrary: fc.constant([IDLE]) },
  { weight: 3, arbitrary: fc.constantFrom(...FINDINGS).map((one) => [one]) },
  { weight: 2, arbitrary: fc.uniqueArray(fc.constantFrom(CLAIM, IDLE, ...FINDINGS, ...ODD), { maxLength: 3 }) },
);
const words = fc.oneof(
  { weight: 3, arbitrary: fc.integer().map((nth) => `Step ${nth} is done.`) },
  { weight: 2, arbitrary: fc.constantFrom('One more is mended.', '') },
);
const text = fc.tuple(words, signs).map(([said, lines]) => [said, ...lines].join('\n\n'));
const amount = fc.integer({ min: 0, max: 120 });

const NO_TOKENS = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** Only a runner hears what an agent used in a turn that was cancelled. */
const countedAlike = (one: TurnOf): TurnOf => (one.command === 'cancel' ? { ...one, usage: NO_TOKENS } : one);

const turn: fc.Arbitrary<TurnOf> = fc
  .record({
    text,
    minutes: fc.integer({ min: 1, max: 4 }).map((tens) => tens * 10),
    calls: fc.integer({ min: 0, max: 3 }),
    denied: fc.integer({ min: 0, max: 2 }),
    usage: fc.record({ inputTokens: amount, outputTokens: amount, cacheReadTokens: amount, cacheWriteTokens: amount }),
    green: fc.boolean(),
    changes: fc.boolean(),
    error: fc.constant(null),
    command: fc.oneof(
      { weight: 30, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.constantFrom('stop', 'cancel', 'steer') },
    ),
    wait: fc.oneof(
      { weight: 12, arbitrary: fc.constant('time' as const) },
      { weight: 3, arbitrary: fc.constantFrom('wake' as const, 'change' as const) },
      { weight: 1, arbitrary: fc.constant('stop' as const) },
    ),
  })
  .map(countedAlike);

/** A router hears nothing of an agent that could not work but why. */
const NO_WORK = {
  ...{ calls: 0, denied: 0, changes: false, command: null },
  usage: NO_TOKENS,
};

/** After so many failures in a row both end the loop, each in its own words. */
const MOST_FAILURES = 5;
const fewFailures = (turns: readonly TurnOf[]): boolean =>
  !turns.some((_, at) => at >= MOST_FAILURES && turns.slice(at - MOST_FAILURES, at + 1).every(({ error }) => error));

const failing: fc.Arbitrary<TurnOf> = fc
  .record({
    turn,
    error: fc.constantFrom(null, null, 'The model refused.', 'It was silent.'),
  })
  .map(({ turn: one, error }) => (error === null ? one : { ...one, ...NO_WORK, error }));

const orOff = (value: string): fc.Arbitrary<string> => fc.constantFrom('', value);
const task = fc
  .tuple(
    fc.integer({ min: 2, max: 9 }).map((most) => `max_iterations: ${most}`),
    orOff('validation: ["test -e green"]'),
    fc.constantFrom(
      '',
      'idle: {delay: 30m, max: 3h5m}',
      'idle: {delay: 20m, wake: change, watch: [watched.txt], max: 2h5m}',
    ),
    fc
      .constantFrom(0, 2)
      .chain((streak) =>
        fc.constantFrom(
          `breaker: {findings: ${streak}, same_reply: 2, denials: 2, no_progress: 0}`,
          `breaker: {findings: 2, same_reply: ${streak}, denials: 0, no_progress: 2, same_error: 2}`,
        ),
      ),
    fc.constantFrom(
      '',
      'budget: {max_tokens: 500}',
      'budget: {max_time: 1h35m}',
      'budget: {max_tokens: 900, warn_at: 0.5}',
    ),
  )
  .map((settings) => `---\n${settings.filter((one) => one !== '').join('\n')}\n---\n\nDo the work.\n`);

/** Whatever they are worth, in the end the user has had enough. */
const enough: TurnOf = {
  ...{ text: 'Still at it.', minutes: 10, calls: 1, denied: 0, green: false, changes: true, error: null },
  ...{ usage: NO_TOKENS, command: 'cancel', wait: 'time' },
};

const sequence = (one: fc.Arbitrary<TurnOf>): fc.Arbitrary<TurnOf[]> =>
  fc.array(one, { minLength: 1, maxLength: 10 }).map((turns) => [...turns, enough]);

test('A hook, a router and a runner that receive the same decide alike, to the end of the loop.', async () => {
  await fc.assert(
    fc.asyncProperty(task, sequence(turn), async (settings, turns) => {
      const clock = farClock();
      try {
        const hook = await byHook(settings, turns, clock);
        assert.deepEqual(await byRunner(settings, turns, clock), hook, 'the runner');
        assert.deepEqual(await byRouter(settings, turns, clock), hook, 'the router');
      } finally {
        clock.restore();
      }
    }),
    { numRuns: SEQUENCES, includeErrorInReport: true, endOnFailure: true, timeout: TEST_TIMEOUT_MS },
  );
});

test('So do a router and a runner with failing agents, which a hook never sees.', async () => {
  await fc.assert(
    fc.asyncProperty(task, sequence(failing).filter(fewFailures), async (settings, turns) => {
      const clock = farClock();
      try {
        const runner = await byRunner(settings, turns, clock);
        assert.deepEqual(await byRouter(settings, turns, clock), runner);
      } finally {
        clock.restore();
      }
    }),
    { numRuns: Math.ceil(SEQUENCES / 2), includeErrorInReport: true, endOnFailure: true, timeout: TEST_TIMEOUT_MS },
  );
});

test('Control: detects a driver that receives only the first words of its agents.', async () => {
  const deaf: Driver = (settings, turns, clock) =>
    byRunner(
      settings,
      turns.map((one) => ({ ...one, text: one.text.split('\n', 1)[0] ?? '' })),
      clock,
    );
  const settings = '---\nmax_iterations: 5\n---\n\nDo the work.\n';
  const turns = [{ ...enough, text: `Done.\n\n${CLAIM}`, command: null }, enough];
  const clock = farClock();
  try {
    assert.notDeepEqual(await deaf(settings, turns, clock), await byHook(settings, turns, clock));
  } finally {
    clock.restore();
  }
});
