import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operate } from '../../../../src/drive/control/operate.ts';
import { RouterLeft, takeBusyLock } from '../../../../src/drive/router/router.ts';
import { AT, aProject, stateOf } from '../../../support/drive/drive-project.ts';
import { called, spawned, startedRouter } from '../../../support/drive/router-project.ts';

const IDLE = '---\nidle: {delay: 30m, max: 6h}\n---\n\nDo the work.\n';
const NEVER = new AbortController().signal;

test('while one call waits, another learns at once until when, and not that checks run', async (t) => {
  const project = aProject(t, IDLE);
  startedRouter(project);
  await spawned(project);
  const wait = await called(project, { spawn: 1, text: '<!-- ralph:state idle -->' });
  const sitting = called(project, null, { sitUntil: Date.now() + 600_000 });
  let over = false;
  sitting.then(() => {
    over = true;
  });
  const other = await called(project);
  assert.equal(over, false);
  assert.ok(wait.action === 'wait' && other.action === 'wait');
  assert.deepEqual([other.why, other.until, other.message], ['idle', wait.until, wait.message]);
  operate(project.files, project.env, AT, () => ({ kind: 'wake' }));
  assert.equal((await sitting).action, 'spawn');
});

test('a call that waits for another one exits when asked to', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  const { epoch } = stateOf(project);
  const done = await takeBusyLock(project.files, epoch, 0, NEVER);
  assert.ok(done !== null);
  const word = new AbortController();
  const behind = takeBusyLock(project.files, epoch, Date.now() + 600_000, word.signal);
  word.abort(new RouterLeft());
  await assert.rejects(behind, RouterLeft);
  done();
  assert.ok((await takeBusyLock(project.files, epoch, 0, NEVER)) !== null);
});
