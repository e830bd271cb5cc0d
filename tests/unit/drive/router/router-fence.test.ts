import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { report } from '../../../../src/drive/router/call.ts';
import { openRouter } from '../../../../src/drive/router/open-router.ts';
import type { RouterAnswer } from '../../../../src/drive/router/router.ts';
import { RalphError } from '../../../../src/text/message.ts';
import { aProject, type Project, put, rewrite, stateOf } from '../../../support/drive/drive-project.ts';
import { goneClient, host, optionsOf, spawned, startedRouter } from '../../../support/drive/router-project.ts';

const SLOW = '---\nvalidation:\n  - until test -f taken; do sleep 0.05; done; test -f done\n---\n\nDo the work.\n';
const CLAIM = { spawn: 1, agent: null, prompt: '', text: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS', error: null, usage: null };

/** The checks of a session's report still run when its client dies and another session takes the loop over. */
async function orphanedChecks(project: Project, fenced: boolean): Promise<RouterAnswer> {
  put(join(project.directory, 'done'), '');
  startedRouter(project);
  await spawned(project);
  const signal = new AbortController().signal;
  const opened = openRouter(project.files, { ...optionsOf(project), signal });
  assert.ok(!('action' in opened));
  const orphan = fenced ? opened : { ...opened, turn: { ...opened.turn, lease: null } };
  const answer = report(orphan, CLAIM);
  answer.catch(() => undefined); // asked for below
  while (stateOf(project).status !== 'verifying') await sleep(20);
  rewrite(project, await goneClient());
  const heir = openRouter(project.files, { ...optionsOf(project, host('host-2')), signal });
  assert.ok(!('action' in heir));
  put(join(project.directory, 'taken'), '');
  return answer;
}

test('checks that a dead session left running decide nothing after a takeover', async (t) => {
  const project = aProject(t, SLOW);
  const fenced = (error: unknown): boolean => error instanceof RalphError && error.code === 'state-fenced';
  await assert.rejects(orphanedChecks(project, true), fenced);
  const { status, sessionId, iteration } = stateOf(project);
  assert.deepEqual([status, sessionId, iteration], ['verifying', 'host-2', 1]);
});

test('control: without its epoch the dead session would end the loop', async (t) => {
  const answer = await orphanedChecks(aProject(t, SLOW), false);
  assert.ok(answer.action === 'stop' && answer.status === 'complete', JSON.stringify(answer));
});
