import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { readState } from '../../../src/state/loop-files.ts';
import fc from '../../support/property.ts';
import { aCase, type HookName, type Laid, lay } from './case.ts';
import { type Asked, ask, type Decide, HOOKS, isExpected } from './hooks.ts';
import { type Before, isForeign, lookAt, mayBlock } from './oracle.ts';

/** The goal is 1 s, and the real maximum is reported. What reads 10 MB in more than linear time takes minutes. */
export const LIMIT_MS = 60_000;

export interface Stopwatch {
  /** Runs `work` and throws where it took longer than the limit. */
  readonly time: <T>(what: string, work: () => T) => T;
  readonly timeAsync: <T>(what: string, work: () => Promise<T>) => Promise<T>;
  readonly slowest: () => string;
}

export function stopwatch(limit = LIMIT_MS): Stopwatch {
  let most = { what: 'nothing', ms: 0 };
  const note = (what: string, from: number): void => {
    const ms = performance.now() - from;
    if (ms > most.ms) most = { what, ms };
    assert.ok(ms <= limit, `${what} took ${ms.toFixed(0)} ms; the slowest before took ${most.ms.toFixed(0)} ms`);
  };
  return {
    time: (what, work) => {
      const from = performance.now();
      const result = work();
      note(what, from);
      return result;
    },
    timeAsync: async (what, work) => {
      const from = performance.now();
      const result = await work();
      note(what, from);
      return result;
    },
    slowest: () => `the slowest was ${most.what} with ${most.ms.toFixed(0)} ms`,
  };
}

const hookNames: fc.Arbitrary<HookName[]> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<HookName[]>(['Stop']) },
  {
    weight: 2,
    arbitrary: fc.array(fc.constantFrom(...(Object.keys(HOOKS) as HookName[])), { minLength: 1, maxLength: 3 }),
  },
);

/** Every rule of a hook, over generated cases: `decide` stands for the Stop hook's decision where it is given. */
export function hooksKeepTheRules(
  directory: string,
  watch: Stopwatch,
  decide: Decide = HOOKS.Stop,
  tally: Tally = {},
): fc.IAsyncProperty<unknown[]> {
  return fc.asyncProperty(aCase, hookNames, async (one, hooks) => {
    const laid = lay(one, directory);
    try {
      for (const hook of hooks) {
        const input = laid.input(hook);
        const first = await askWatched(hook, input, laid, watch, hook === 'Stop' ? decide : HOOKS[hook]);
        count(tally, hook, first);
        if (hook !== 'Stop' || !isBlock(first.answer)) continue;
        // A hook that is registered in two places: the same Stop comes again.
        const second = await askWatched(hook, input, laid, watch, decide);
        assert.ok(!isBlock(second.answer), 'one Stop has two answers');
      }
    } finally {
      laid.remove();
    }
  });
}

/** How often something came about: cases that never get anywhere would hold every rule. */
export type Tally = Record<string, number>;

function count(tally: Tally, hook: HookName, { answer, error, session }: Asked): void {
  const what =
    session === null ? 'not asked' : error !== null ? 'error' : isBlock(answer) ? 'block' : answer ? 'word' : 'silence';
  const key = `${hook}: ${what}`;
  tally[key] = (tally[key] ?? 0) + 1;
}

async function askWatched(hook: HookName, input: Buffer, laid: Laid, watch: Stopwatch, decide: Decide): Promise<Asked> {
  const before = lookAt(laid);
  const asked = await watch.timeAsync(hook, () => ask(hook, input, laid.env, decide));
  if (!isExpected(asked.error)) throw asked.error;
  checkAnswer(hook, asked.answer);
  if (asked.session === null) return asked;
  if (isBlock(asked.answer)) checkBlock(laid, before, asked.session);
  checkDisk(hook, laid, before, asked.session);
  return asked;
}

const KEYS: Readonly<Record<HookName, readonly string[]>> = {
  Stop: ['decision', 'reason', 'systemMessage', 'hookSpecificOutput'],
  UserPromptSubmit: ['systemMessage'],
  SessionStart: ['systemMessage', 'hookSpecificOutput'],
  StopFailure: ['systemMessage'],
  PreToolUse: ['continue', 'stopReason', 'systemMessage', 'hookSpecificOutput'],
  PostToolUse: ['systemMessage', 'hookSpecificOutput'],
  PostToolUseFailure: ['systemMessage', 'hookSpecificOutput'],
};

/** One JSON object or nothing, and no word that its event does not know. */
export function checkAnswer(hook: HookName, answer: unknown): void {
  if (answer === null) return;
  assert.ok(typeof answer === 'object' && !Array.isArray(answer), `${hook} answered ${JSON.stringify(answer)}`);
  const written = JSON.parse(JSON.stringify(answer)) as Record<string, unknown>;
  assert.deepEqual(
    Object.keys(written).filter((key) => !KEYS[hook].includes(key)),
    [],
  );
  if ('decision' in written) {
    assert.equal(written['decision'], 'block');
    assert.ok(typeof written['reason'] === 'string' && written['reason'] !== '');
  } else assert.ok(!('reason' in written));
  const own = written['hookSpecificOutput'] as Record<string, unknown> | undefined;
  if (own) assert.equal(own['hookEventName'], hook);
  if ('systemMessage' in written) assert.match(String(written['systemMessage']), /^ralph-loop: /);
}

export function isBlock(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'decision' in answer;
}

/** A block needs an active loop of this session before it, and leaves one that is bound to this session or its client. */
export function checkBlock({ env, files }: Laid, before: Before, session: string): void {
  assert.ok(mayBlock(before, env, session), 'a Stop was blocked that no active loop of this session stands for');
  const now = readState(files.state);
  assert.ok(now.kind === 'loop', `a block leaves a state of kind ${now.kind}`);
  const { status, sessionId, clientPid, mode, iteration, maxIterations } = now.state;
  assert.deepEqual([status, mode], ['running', 'hook'], `a block leaves a loop that is ${status} (${mode})`);
  const bound = sessionId === session || (clientPid !== null && clientPid === Number(env['CLAUDE_PID']));
  assert.ok(bound, `a block leaves a loop of ${sessionId} to ${session}`);
  assert.ok(iteration < maxIterations, `a block sends the agent into iteration ${iteration + 1} of ${maxIterations}`);
}

/** Whatever was decided: nobody else's loop has changed, no state is gone or unreadable, no lock is left. */
export function checkDisk(hook: HookName, { env, files }: Laid, before: Before, session: string): void {
  const after = existsSync(files.state) ? readFileSync(files.state) : null;
  if (hook !== 'SessionStart' && isForeign(before, env, session, hook.includes('ToolUse'))) {
    assert.deepEqual(after, before.state, 'the state of somebody else has changed');
  }
  const changed = after !== null && (before.state === null || !after.equals(before.state));
  if (changed) assert.equal(readState(files.state).kind, 'loop', 'a hook leaves a state that nobody can read');
  if (after === null && before.state !== null) {
    assert.ok(existsSync(files.archiveDir) && readdirSync(files.archiveDir).length > 0, 'a state is gone');
  }
  assert.ok(!existsSync(files.lock), 'a lock is left');
}
