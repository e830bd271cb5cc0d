import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { operate } from '../../../../src/drive/control/operate.ts';
import { type DriverContext, driverContext } from '../../../../src/drive/control/ownership.ts';
import { stop } from '../../../../src/drive/hook/stop/stop.ts';
import { stopFailure } from '../../../../src/drive/hook/stop-failure.ts';
import { waitUntil } from '../../../../src/drive/turn/wait.ts';
import { initialState } from '../../../../src/engine/initial-state.ts';
import { parseHookInput } from '../../../../src/hosts/hook-io/hook-input.ts';
import { beginEvidence, writeContract } from '../../../../src/state/evidence/store-evidence.ts';
import { parseState } from '../../../../src/state/loop-files.ts';
import { buildContract } from '../../../../src/task/settings/build-contract.ts';
import { terms } from '../../../support/contract-terms.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { TEST_TIMEOUT_MS } from '../../../support/until.ts';

const FOUR_KEYS =
  '{"iteration":1,"startedAt":"2026-02-28T10:00:00Z","lastRunAt":"2026-02-28T10:00:00Z","lastFindingsCount":3}';

const LOOP = initialState({
  ...{ loopId: 'loop-1', name: null, mode: 'hook', taskPath: '.claude/ralph/PROMPT.md', contractHash: null },
  ...{ maxIterations: 25, at: '2026-02-28T10:00:00Z', consented: true },
});

/** A hook of session-1 in a project of its own, with this text as its state file. */
function hookOver(
  t: TestContext,
  state: string | null,
  event: string,
  env: Record<string, string> = {},
): DriverContext {
  const project = emptyFolder(t);
  const input = parseHookInput(
    JSON.stringify({
      hook_event_name: event,
      session_id: 'session-1',
      last_assistant_message: 'x',
      error: 'rate_limit',
    }),
  );
  assert.ok(input !== null);
  const context = driverContext(input, {
    CLAUDE_PROJECT_DIR: project,
    XDG_STATE_HOME: join(project, 'outside'),
    ...env,
  });
  for (const [path, text] of [
    [context.files.state, state],
    [join(project, '.claude', 'ralph', 'PROMPT.md'), 'Do the work.\n'],
  ] as const) {
    if (text === null) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return context;
}

function decide(context: DriverContext): Promise<object | null> {
  return stop(context, { timeoutMs: 60_000, signal: () => new AbortController().signal });
}

for (const driver of ['runner', 'router']) {
  test(`A ${driver}'s child is not trapped beside a four-key or corrupt state and touches nothing.`, async (t) => {
    for (const text of [FOUR_KEYS, '{"torn']) {
      const context = hookOver(t, text, 'Stop', { RALPH_DRIVER: driver });
      assert.equal(await decide(context), null);
      assert.equal(readFileSync(context.files.state, 'utf8'), text);
    }
  });
}

test('Control: the same four keys without a driver are a loop that continues.', async (t) => {
  const answer = await decide(hookOver(t, FOUR_KEYS, 'Stop'));
  assert.ok(answer !== null && 'decision' in answer);
});

for (const [open, close] of [
  ['[', ']'],
  ['{"a":', '}'],
] as const) {
  const nested = (levels: number): string =>
    JSON.stringify({ ...LOOP, sessionId: 'session-1', further: '?' }).replace(
      '"?"',
      `${open.repeat(levels)}1${close.repeat(levels)}`,
    );

  test(`A state nested too deeply in ${open} to be written again is corrupt, and no Stop throws.`, async (t) => {
    for (const levels of [100, 2_000, 2_900, 3_500, 4_000, 5_000, 20_000]) {
      const text = nested(levels);
      const context = hookOver(t, text, 'Stop');
      const answer = await decide(context);
      assert.ok(answer !== null && 'systemMessage' in answer && !('decision' in answer), String(levels));
      assert.match(String(answer.systemMessage), /nested too deeply.*moved to/);
      assert.ok(!existsSync(context.files.state));
      const [name = ''] = readdirSync(context.files.archiveDir);
      assert.equal(readFileSync(join(context.files.archiveDir, name), 'utf8'), text);
    }
  });

  test(`Control: extra keys nested in ${open} as deeply as is reasonable are kept.`, async (t) => {
    const context = hookOver(t, nested(99), 'Stop');
    const answer = await decide(context);
    assert.ok(answer !== null && 'decision' in answer);
    assert.deepEqual(JSON.parse(readFileSync(context.files.state, 'utf8')).further, JSON.parse(nested(99)).further);
  });
}

test('Four keys beside something nested too deeply are corrupt too.', () => {
  const beside = (levels: number): string =>
    FOUR_KEYS.replace('}', `,"further":${'['.repeat(levels)}${']'.repeat(levels)}}`);
  assert.deepEqual([parseState(beside(99)).kind, parseState(beside(100)).kind], ['four-keys', 'corrupt']);
});

test('A state that was rewritten after a resume is restored and does not fence out its own loop.', async (t) => {
  const context = hookOver(t, null, 'Stop');
  const stored = buildContract(terms(context.files.projectDir, []));
  beginEvidence(context.files, stored.contract.loopId);
  writeContract(context.files, stored);
  const resumed = { ...LOOP, contractHash: stored.hash, sessionId: 'session-1', epoch: 2, maxIterations: 99 };
  mkdirSync(context.files.runtimeDir, { recursive: true });
  writeFileSync(context.files.state, JSON.stringify(resumed));
  const answer = await decide(context);
  assert.ok(answer !== null && 'decision' in answer);
  const now = parseState(readFileSync(context.files.state, 'utf8'));
  assert.ok(now.kind === 'loop');
  assert.deepEqual([now.state.epoch, now.state.maxIterations], [2, 25]);
});

test('A corrupt state ends what has no contract; a loop that can be resumed says so.', async (t) => {
  for (const [started, said] of [
    [false, /The loop has ended\. Start a new one: \S.* start\./],
    [true, /does not continue; its counters are in the journal\. Resume: \S.* resume\. Start over: \S.* --fresh\./],
  ] as const) {
    const context = hookOver(t, '{"torn', 'Stop');
    const stored = buildContract(terms(context.files.projectDir, []));
    if (started) writeContract(context.files, stored);
    const answer = await decide(context);
    assert.match(String(answer !== null && 'systemMessage' in answer && answer.systemMessage), said);
  }
});

test('A loop whose contract cannot be read can be cancelled.', (t) => {
  const { files, env } = hookOver(t, JSON.stringify(LOOP), 'Stop');
  mkdirSync(files.outsideDir, { recursive: true });
  writeFileSync(files.contract, '{"torn');
  assert.throws(() => operate(files, env, '2026-02-28T11:00:00Z', () => ({ kind: 'pause' })), /cannot be read/);
  operate(files, env, '2026-02-28T11:00:00Z', () => ({ kind: 'cancel' }));
  assert.deepEqual([existsSync(files.state), existsSync(files.contract)], [false, false]);
});

test('A task path that is not a path does not throw and end an idle wait.', async (t) => {
  const at = '2026-02-28T10:00:00Z';
  const waiting = { since: at, until: at, delayMs: 5, last: false, woken: false, seen: null };
  const state = { ...LOOP, status: 'waiting' as const, waiting };
  const context = hookOver(t, JSON.stringify(state), 'Stop');
  const wait = {
    state,
    until: Date.now() + 5,
    deadline: Date.now() + 60_000,
    signal: new AbortController().signal,
  };
  assert.equal(await waitUntil({ context, transcriptPath: null }, { ...wait, taskPath: 'a\0b' }), 'elapsed');
});

test('Successive waits that are over before they begin still notice that the client asks the hook to exit.', async (t) => {
  const context = hookOver(t, JSON.stringify(LOOP), 'Stop');
  const turn = { context, transcriptPath: null };
  const told = new AbortController();
  setTimeout(() => told.abort(), 5);
  const wait = { state: LOOP, deadline: Date.now() + 60_000, signal: told.signal, taskPath: null };
  let end: string | null = null;
  for (let waits = 0; waits < 20_000 && end !== 'aborted'; waits++) end = await waitUntil(turn, { ...wait, until: 0 });
  assert.equal(end, 'aborted');
});

test('A rate limit in a session without a loop does not wait for the line in the transcript.', async (t) => {
  const bound = { ...LOOP, sessionId: 'session-2' };
  // By a clock that stands still it would wait for ever.
  const at = Date.now();
  t.mock.method(Date, 'now', () => at);
  for (const state of [null, JSON.stringify(bound)]) {
    const answered = stopFailure(hookOver(t, state, 'StopFailure'));
    assert.equal(await Promise.race([answered, sleep(TEST_TIMEOUT_MS, 'it waits', { ref: false })]), null);
  }
});
