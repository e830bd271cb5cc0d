import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { liveControls } from '../../../../src/drive/runner/handle-signals.ts';
import type { Runner } from '../../../../src/drive/runner/runner.ts';

type Agent = NonNullable<Runner['agent']>;

/** A runner whose agent notes what it is asked, and ends when `leave` is called. */
const withAgent = (): { runner: Runner; asked: string[]; told: string[]; leave: () => void } => {
  const asked: string[] = [];
  const told: string[] = [];
  let leave = (): void => undefined;
  const done = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const agent = {
    pid: 1,
    done,
    send: () => true,
    interrupt: () => asked.push('interrupt'),
    end: (why: string) => asked.push(`end: ${why}`),
  } as unknown as Agent;
  const options = { tell: ({ type }: { type: string }) => told.push(type) };
  return { runner: { agent, options, interrupted: false } as unknown as Runner, asked, told, leave };
};

test('an agent that is interrupted has five seconds to end its turn, and is ended then', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const { runner, asked, told } = withAgent();
    liveControls(runner).interrupt();
    mock.timers.tick(4_999);
    assert.deepEqual([asked, told, runner.interrupted], [['interrupt'], ['interrupting'], true]);
    mock.timers.tick(1);
    assert.deepEqual(asked, ['interrupt', 'end: interrupt']);
  } finally {
    mock.timers.reset();
  }
});

test('one that has ended in time is not ended again', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const { runner, asked, leave } = withAgent();
    liveControls(runner).interrupt();
    leave();
    await Promise.resolve();
    await Promise.resolve();
    mock.timers.tick(60_000);
    assert.deepEqual(asked, ['interrupt']);
  } finally {
    mock.timers.reset();
  }
});

test('who presses Esc twice does not wait', () => {
  const { runner, asked, told, leave } = withAgent();
  const { interrupt } = liveControls(runner);
  interrupt();
  interrupt();
  leave();
  assert.deepEqual([asked, told], [['interrupt', 'end: interrupt'], ['interrupting']]);
});
