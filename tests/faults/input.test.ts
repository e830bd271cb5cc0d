import assert from 'node:assert/strict';
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { DriverContext } from '../../src/drive/control/ownership.ts';
import type { LoopState } from '../../src/engine/schema/state.ts';
import { type HookInput, parseHookInput } from '../../src/hosts/hook-io/hook-input.ts';
import { pauseThread } from '../../src/state/files/regular-file.ts';
import { readState } from '../../src/state/loop-files.ts';
import { withState } from '../../src/state/with-state.ts';
import { scratch } from '../support/faults/bundle-state.ts';
import fc from '../support/property.ts';
import { type Decide, HOOKS } from './input/hooks.ts';
import { parsersNeverThrow, readersNeverThrow } from './input/readers.ts';
import { hooksKeepTheRules, stopwatch, type Tally } from './input/rules.ts';
import { spawnStops } from './input/spawned.ts';

/** FUZZ_RUNS=200000 FUZZ_SPAWNED=500 is the long form. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 1_000);
const SPAWNED = Number(process.env['FUZZ_SPAWNED'] ?? 24);

const dist = fileURLToPath(new URL('../../dist/plugin', import.meta.url));
const { directory, remove } = scratch('memory');
const home = process.cwd();

// What a payload calls its working directory is looked for here, never in the project that runs the tests.
before(() => process.chdir(directory));
after(() => {
  process.chdir(home);
  remove();
});

function runs(share: number): fc.Parameters<unknown> {
  return { numRuns: Math.round(RUNS * share), includeErrorInReport: true };
}

test('No payload, state file, task file or message makes its reader throw or run long.', (t) => {
  const watch = stopwatch();
  fc.assert(parsersNeverThrow(watch), runs(0.7));
  t.diagnostic(watch.slowest());
});

test('No transcript or journal makes its readers throw or run long.', (t) => {
  const watch = stopwatch();
  fc.assert(readersNeverThrow(directory, watch), runs(0.15));
  t.diagnostic(watch.slowest());
});

test("Whatever a hook finds, it blocks only for its session's active loop, answers once, breaks nothing.", async (t) => {
  const watch = stopwatch();
  const tally: Tally = {};
  await fc.assert(hooksKeepTheRules(directory, watch, HOOKS.Stop, tally), runs(0.15));
  t.diagnostic(watch.slowest());
  t.diagnostic(JSON.stringify(tally));
  for (const what of ['Stop: block', 'Stop: word', 'Stop: silence']) assert.ok((tally[what] ?? 0) > RUNS / 1_500, what);
});

test('The Stop hook exits with 0 and prints one JSON object or nothing, whatever it is given.', async (t) => {
  const bundle = join(directory, 'bundle');
  assert.ok(existsSync(join(dist, 'hooks', 'ralph-stop-hook.cjs')), 'the bundle is there: npm run build');
  cpSync(dist, bundle, { recursive: true });
  const seed = fc.readConfigureGlobal().seed ?? Date.now() % 1_000_000;
  const hook = join(bundle, 'hooks', 'ralph-stop-hook.cjs');
  const { failures, ...result } = await spawnStops(hook, directory, SPAWNED, seed);
  assert.deepEqual(failures, []);
  t.diagnostic(JSON.stringify({ ...result, seed }));
  assert.ok(result.blocks + result.words > SPAWNED / 4, 'some Stops were answered');
  assert.ok(result.blocks > 0 || SPAWNED < 200, 'one of many Stops was blocked');
});

/** What a careless reader or hook would do, and what must be said of it. */
function caught(details: fc.RunDetails<unknown[]>, pattern: RegExp): void {
  assert.ok(details.failed, 'nobody saw it');
  assert.match(String((details.errorInstance as Error).message), pattern);
}

const CONTROL = { numRuns: 5_000, endOnFailure: true };

test('Control: detects a parser that lets an exception out.', () => {
  const careless = (text: string): HookInput | null => (JSON.parse(text) === null ? null : parseHookInput(text));
  caught(fc.check(parsersNeverThrow(stopwatch(), careless), CONTROL), /JSON/);
});

test('Control: detects a reader that takes too long.', () => {
  const slow = (): null => {
    pauseThread(20);
    return null;
  };
  caught(fc.check(parsersNeverThrow(stopwatch(10), slow), CONTROL), /took \d+ ms/);
});

/** Hooks that forget something, each with what the rules say of it. */
const CARELESS: Readonly<Record<string, readonly [Decide, RegExp]>> = {
  'forgets whose session a loop belongs to': [
    (context) => HOOKS.Stop(inSession(context, stateOf(context)?.sessionId ?? context.input.sessionId)),
    /no active loop of this session|a block leaves|the state of somebody else has changed/,
  ],
  'forgets that a loop is paused': [
    (context) => {
      const paused = stateOf(context)?.status === 'paused';
      return paused ? { decision: 'block', reason: 'on', systemMessage: 'ralph-loop: on' } : HOOKS.Stop(context);
    },
    /no active loop of this session|a block leaves/,
  ],
  'forgets which Stop it has answered': [
    (context) => {
      forgetLastTurn(context);
      return HOOKS.Stop(context);
    },
    /one Stop has two answers/,
  ],
  'blocks where it fails': [
    async (context) => {
      try {
        return await HOOKS.Stop(context);
      } catch {
        return { decision: 'block', reason: 'again', systemMessage: 'ralph-loop: again' };
      }
    },
    /no active loop of this session|a block |one Stop has two answers/,
  ],
};

for (const [what, [careless, pattern]] of Object.entries(CARELESS)) {
  test(`Control: detects a Stop hook that ${what}.`, async () => {
    caught(await fc.check(hooksKeepTheRules(directory, stopwatch(), careless), CONTROL), pattern);
  });
}

function stateOf({ files }: DriverContext): LoopState | null {
  const read = readState(files.state);
  return read.kind === 'loop' ? read.state : null;
}

function inSession(context: DriverContext, sessionId: string): DriverContext {
  return { ...context, input: { ...context.input, sessionId } };
}

function forgetLastTurn(context: DriverContext): void {
  const state = stateOf(context);
  if (state?.sessionId !== context.input.sessionId || state.mode !== 'hook' || state.lastTurn === null) return;
  if (context.env['RALPH_LOOP_ID'] || context.env['RALPH_DRIVER']) return;
  withState(context.files, () => ({ next: { ...state, lastTurn: null }, result: undefined }));
}
