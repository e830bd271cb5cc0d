import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { operate } from '../../../../src/drive/control/operate.ts';
import { abortIfSuperseded } from '../../../../src/drive/turn/abort-if-superseded.ts';
import type { LoopState } from '../../../../src/engine/schema/state.ts';
import { watchSleep } from '../../../../src/state/process/sleep-watch.ts';
import { AT, aProject, type Project, put, start } from '../../../support/drive/drive-project.ts';
import { policy } from '../../engine/support/loop.ts';

/** Work that lasts until it is told to give up, and says how it came to its end. */
const endless = (signal: AbortSignal): Promise<string> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
/** Work that lasts for more than two looks, and gives up where it is told to. */
const short = (signal: AbortSignal): Promise<string> => sleep(800, 'done', { signal });
const never = new AbortController().signal;

const superseded = (
  { files, env }: Project,
  state: LoopState,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<string>,
  maxTimeMs: number | null = null,
): Promise<string> => {
  const loaded = {
    state,
    policy: policy({ budget: { maxCostUsd: null, maxTokens: null, maxTimeMs, warnAt: 0.8 } }),
    stored: null,
    restored: null,
    lost: null,
  };
  return abortIfSuperseded({ context: { files, env, now: () => AT }, loaded, signal: () => signal }, work);
};

const aLoop = (t: TestContext): { project: Project; state: LoopState } => {
  const project = aProject(t);
  return { project, state: start(project, true).state };
};
const told = ({ files, env }: Project, kind: 'cancel' | 'pause' | 'resume' | 'stop'): void =>
  void operate(files, env, AT, () => (kind === 'stop' ? { kind, clientAlive: true } : { kind }));

for (const kind of ['cancel', 'pause'] as const) {
  test(`${kind} aborts the current work and reports why`, async (t) => {
    const { project, state } = aLoop(t);
    const made = superseded(project, state, never, endless);
    told(project, kind);
    assert.equal(await made, 'superseded');
  });
}

test('a missing state, or that of another loop, aborts the work', async (t) => {
  const { project, state } = aLoop(t);
  const other = superseded(project, { ...state, loopId: 'another' }, never, endless);
  assert.equal(await other, 'superseded');
  const gone = superseded(project, state, never, endless);
  rmSync(project.files.state);
  assert.equal(await gone, 'superseded');
});

test('a stop aborts work on the next iteration, but lets a claim be checked', async (t) => {
  const { project, state } = aLoop(t);
  const asked = (loop: LoopState): LoopState => ({ ...loop, stopRequested: true });
  put(project.files.state, JSON.stringify(asked(state)));
  assert.equal(await superseded(project, state, never, endless), 'superseded');
  const verifying: LoopState = { ...state, status: 'verifying', verifying: { since: AT } } as LoopState;
  put(project.files.state, JSON.stringify(asked(verifying)));
  assert.equal(await superseded(project, verifying, never, short), 'done');
  const unclaimed = { ...verifying, verifying: { since: AT, unclaimed: true } } as LoopState;
  put(project.files.state, JSON.stringify(asked(unclaimed)));
  assert.equal(await superseded(project, unclaimed, never, endless), 'superseded', 'no claim is checked');
});

test('an untouched loop and an unreadable state abort nothing', async (t) => {
  const { project, state } = aLoop(t);
  assert.equal(await superseded(project, state, never, short), 'done');
  put(project.files.state, '{');
  assert.equal(await superseded(project, state, never, short), 'done');
});

test('a request to exit wins even where the work was done; other failures stay failures', async (t) => {
  const { project, state } = aLoop(t);
  const client = new AbortController();
  const made = superseded(project, state, client.signal, endless);
  client.abort();
  assert.equal(await made, 'aborted');
  assert.equal(await superseded(project, state, client.signal, async () => 'done'), 'aborted');
  const failing = superseded(project, state, never, () => Promise.reject(new Error('a full disk')));
  await assert.rejects(failing, /a full disk/);
});

test('a loop that has used its time is superseded, and one with time left is not', async (t) => {
  const { project, state } = aLoop(t);
  const since = (milliseconds: number): LoopState => {
    const begun: LoopState = { ...state, startedAt: new Date(Date.now() - milliseconds).toISOString() };
    put(project.files.state, JSON.stringify(begun));
    return begun;
  };
  assert.equal(await superseded(project, since(60_000), never, endless, 59_000), 'superseded');
  assert.equal(await superseded(project, since(60_000), never, short, 600_000), 'done', 'control: time left');
  const slept = { ...since(60_000), stoppedMs: 50_000 };
  put(project.files.state, JSON.stringify(slept));
  assert.equal(await superseded(project, slept, never, short, 59_000), 'done', 'control: stopped for most of it');
});

test('a sleep of the machine is noted before the time of the checks is judged', async (t) => {
  const { project, state } = aLoop(t);
  const begun: LoopState = { ...state, startedAt: new Date().toISOString() };
  put(project.files.state, JSON.stringify(begun));
  const made = superseded(project, begun, never, short, 59_000);
  const end = watchSleep(() => put(project.files.state, JSON.stringify({ ...begun, stoppedMs: 7_200_000 })));
  t.after(end);
  const now = Date.now;
  t.mock.method(Date, 'now', () => now() + 7_200_000);
  assert.equal(await made, 'done');
});
