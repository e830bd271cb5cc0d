import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operate } from '../../../../src/drive/control/operate.ts';
import type { Lease } from '../../../../src/drive/runner/lease.ts';
import { newRunner, type RunnerOptions } from '../../../../src/drive/runner/runner.ts';
import { acknowledge, pollForChanges } from '../../../../src/drive/runner/watch-operator.ts';
import { steering } from '../../../../src/engine/events.ts';
import type { RunnerEvent } from '../../../../src/engine/runner-event.ts';
import { AT, aProject, start } from '../../../support/drive/drive-project.ts';

for (const atOnce of [true, false]) {
  test(`a message that the agent acknowledges ${atOnce ? 'while it is sent' : 'later'} is shown as sent once`, (t) => {
    const project = aProject(t);
    const told: RunnerEvent[] = [];
    const options = { env: project.env, tell: (event: RunnerEvent) => told.push(event) } as unknown as RunnerOptions;
    const runner = newRunner(start(project, true), options, {} as Lease);
    const send = (_: string, id: string): boolean => {
      if (atOnce) acknowledge(runner, id);
      return true;
    };
    runner.agent = { send } as unknown as NonNullable<typeof runner.agent>;
    operate(project.files, project.env, new Date().toISOString(), () => steering('id-1', 'Use tabs.', 'now'));
    pollForChanges(runner);
    if (!atOnce) acknowledge(runner, 'id-1');
    pollForChanges(runner);
    assert.deepEqual(
      told.filter(({ type }) => type === 'steering.sent'),
      [{ type: 'steering.sent', texts: ['Use tabs.'] }],
    );
  });
}

test('a message that a hook delivers between two looks at the loop is shown as sent', (t) => {
  const project = aProject(t);
  const told: RunnerEvent[] = [];
  const options = { env: project.env, tell: (event: RunnerEvent) => told.push(event) } as unknown as RunnerOptions;
  const loop = start(project, true);
  const runner = newRunner(loop, options, {} as Lease);
  operate(project.files, project.env, AT, () => steering('id-1', 'Use tabs.', 'now'));
  const hook = new Map([['id-1', 'acknowledged']]) as typeof runner.sent;
  acknowledge({ ...newRunner(loop, { ...options, tell: () => undefined }, {} as Lease), sent: hook }, 'id-1');
  pollForChanges(runner);
  pollForChanges(runner);
  assert.deepEqual(
    told.filter(({ type }) => type.startsWith('steering.')),
    [{ type: 'steering.sent', texts: ['Use tabs.'] }],
  );
});
