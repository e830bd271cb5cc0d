import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runnerLines } from '../../../../src/cli/runner-lines.ts';
import { takeLease } from '../../../../src/drive/runner/lease.ts';
import { backOff, MOST_RETRIES, runnerTimeouts } from '../../../../src/drive/runner/runner.ts';
import { initialState } from '../../../../src/engine/initial-state.ts';
import { transition } from '../../../../src/engine/transition.ts';
import { newOwner } from '../../../../src/state/lock/owner.ts';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { policy } from '../../engine/support/loop.ts';

test('each wait is at most twice the one before, never more than two minutes, with jitter', () => {
  const waits = Array.from({ length: MOST_RETRIES }, (_, nth) => [backOff(5_000, nth, 0), backOff(5_000, nth, 0.999)]);
  assert.deepEqual(waits[0], [2_500, 4_998]);
  assert.deepEqual(waits[4], [40_000, 79_960]);
  assert.equal(backOff(5_000, 40, 1), 120_000);
  assert.equal(backOff(600_000, 3, 1), 600_000);
});

test('reads durations from the environment and names an invalid one', () => {
  assert.deepEqual(runnerTimeouts({}), { silenceMs: 1_200_000, retryMs: 5_000 });
  assert.deepEqual(runnerTimeouts({ RALPH_SILENCE: '90s', RALPH_RETRY_WAIT: '1m' }), {
    silenceMs: 90_000,
    retryMs: 60_000,
  });
  assert.throws(() => runnerTimeouts({ RALPH_RETRY_WAIT: '0' }), /Invalid RALPH_RETRY_WAIT "0"/);
});

test("an agent that cannot work ends its loop as an error with the driver's message", () => {
  const at = '2026-01-01T00:00:00.000Z';
  const loop = {
    loopId: 'l',
    name: null,
    taskPath: 'PROMPT.md',
    contractHash: null,
    maxIterations: 5,
    at,
    consented: true,
  };
  const state = initialState({ ...loop, mode: 'runner' });
  const next = transition(state, { type: 'agent-failed', at, message: 'no credentials' }, policy());
  assert.equal(next.state.status === 'ended' && next.state.ended.as, 'error');
  assert.equal(next.state.status === 'ended' && next.state.ended.message, 'no credentials');
  assert.deepEqual(
    next.effects.map(({ type }) => type),
    ['record-event', 'archive', 'allow'],
  );
});

test('a lease has one named holder, and a dead holder has none', (t) => {
  const root = emptyFolder(t);
  const files = loopFiles(root, null, { XDG_STATE_HOME: join(root, 'state') });
  const other = loopFiles(root, 'other', { XDG_STATE_HOME: join(root, 'state') });
  const lease = takeLease(files, () => assert.fail('lost'));
  assert.throws(() => takeLease(files, () => undefined), new RegExp(`process ${process.pid}\\)`));
  takeLease(other, () => undefined).release();
  lease.release();
  // A holder that was killed leaves both its name and its lease.
  mkdirSync(join(files.outsideDir, 'runner.holder.lease'));
  assert.throws(
    () => takeLease(files, () => undefined),
    /another machine, or one that has just ended/,
    'nobody knows of whom',
  );
  rmSync(join(files.outsideDir, 'runner.holder.lease'), { recursive: true });
  const again = takeLease(files, () => undefined);
  again.release();
  mkdirSync(join(files.outsideDir, 'runner.holder.lease'));
  const dead = { pid: 2 ** 22 - 3, startedAt: 'boot:1', token: 'x', host: newOwner().host };
  writeFileSync(join(files.outsideDir, 'runner.holder'), JSON.stringify(dead));
  takeLease(files, () => undefined).release();
});

test('an agent is waited for even if the runner after its own was killed before it started one', async (t) => {
  const root = emptyFolder(t);
  const files = loopFiles(root, null, { XDG_STATE_HOME: join(root, 'state') });
  const holder = join(files.outsideDir, 'runner.holder');
  const agent = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' });
  t.after(() => agent.kill('SIGKILL'));
  const die = (): void => {
    const held = JSON.parse(readFileSync(holder, 'utf8')) as object;
    writeFileSync(holder, JSON.stringify({ ...held, pid: 2 ** 22 - 3, startedAt: 'boot:1', token: 'x' }));
  };
  takeLease(files, () => undefined).noteAgent(agent.pid ?? 0);
  die();
  takeLease(files, () => undefined);
  die();
  const third = takeLease(files, () => undefined);
  const first = await Promise.race([third.alone.then(() => 'alone'), sleep(100, 'waits')]);
  assert.equal(first, 'waits');
  agent.kill('SIGKILL');
  await third.alone;
  third.release();
});

test("the agent's output cannot rewrite the terminal", () => {
  assert.deepEqual(runnerLines({ type: 'agent.text', text: 'a\u001b[2Jb' }), ['ab']);
  const call = {
    type: 'tool.ended',
    id: 'call-1',
    tool: 'Bash',
    about: 'echo \u001b]0;x\u0007hi',
    outcome: 'ok',
    nested: false,
    durationMs: 1_200,
  } as const;
  assert.deepEqual(runnerLines(call), ['  ✓ Bash echo hi (1s)']);
});
