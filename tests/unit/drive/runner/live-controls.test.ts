import assert from 'node:assert/strict';
import { test } from 'node:test';
import { liveControls } from '../../../../src/drive/runner/handle-signals.ts';
import type { Runner } from '../../../../src/drive/runner/runner.ts';

type Agent = NonNullable<Runner['agent']>;

/** A runner whose agent notes how it is ended. */
const withAgent = (): { runner: Runner; asked: string[]; told: string[] } => {
  const asked: string[] = [];
  const told: string[] = [];
  const agent = {
    pid: 1,
    done: new Promise<void>(() => undefined),
    send: () => true,
    end: (why: string, force: boolean) => asked.push(`${why}${force ? ' by force' : ''}`),
  } as unknown as Agent;
  const options = { tell: ({ type }: { type: string }) => told.push(type) };
  return { runner: { agent, options, interrupted: false } as unknown as Runner, asked, told };
};

test('Esc asks the agent to end its turn', () => {
  const { runner, asked, told } = withAgent();
  liveControls(runner).interrupt();
  assert.deepEqual([asked, told, runner.interrupted], [['interrupt'], ['agent.interrupting'], true]);
});

test('Esc pressed twice does not wait', () => {
  const { runner, asked, told } = withAgent();
  const { interrupt } = liveControls(runner);
  interrupt();
  interrupt();
  assert.deepEqual([asked, told], [['interrupt', 'interrupt by force'], ['agent.interrupting']]);
});
