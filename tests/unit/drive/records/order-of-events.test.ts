import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { operate } from '../../../../src/drive/control/operate.ts';
import { deliverSteering } from '../../../../src/drive/hook/deliver.ts';
import { applyEffects } from '../../../../src/drive/records/apply-effects.ts';
import { steering } from '../../../../src/engine/events.ts';
import { readLines } from '../../../../src/state/files/journal-lines.ts';
import { AT, aHook, aProject, type Project, rewrite, start, stateOf } from '../../../support/drive/drive-project.ts';

/** A loop of session-1 that notes, whenever its stream is opened, whether the lock of its state is held. */
function observed(t: TestContext): { project: Project; held: boolean[] } {
  const project = aProject(t);
  start(project, true);
  rewrite(project, { sessionId: 'session-1', turn: 'agent' });
  const held: boolean[] = [];
  const { events, lock } = project.files;
  const files = Object.defineProperty({ ...project.files }, 'events', {
    get: () => {
      held.push(existsSync(lock));
      return events;
    },
  });
  return { project: { ...project, files }, held };
}

test('A message of the user is recorded before another process can deliver it.', (t) => {
  const { project, held } = observed(t);
  operate(project.files, project.env, AT, () => steering('1', 'Look.', 'now'));
  assert.deepEqual(held, [true]);
});

test('So is its delivery, before another message can be queued.', (t) => {
  const { project, held } = observed(t);
  operate(project.files, project.env, AT, () => steering('1', 'Look.', 'now'));
  held.length = 0;
  const context = { ...aHook(project, 'PreToolUse'), files: project.files };
  assert.match(deliverSteering(context)?.additionalContext ?? '', /Look\./);
  assert.deepEqual(held, [true]);
  const types = readLines(project.files.events).entries.map(({ type }) => type);
  assert.deepEqual(types.slice(-2), ['operator.steer', 'steering.delivered']);
});

test('Control: effects that are applied later are recorded without the lock.', (t) => {
  const { project, held } = observed(t);
  const { loopId, iteration } = stateOf(project);
  const event = { type: 'operator.steer', at: AT, loopId, iteration };
  applyEffects(project.files, AT, [{ type: 'record-event', event }]);
  assert.deepEqual(held, [false]);
});
