import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import type { Project } from '../../../support/drive/drive-project.ts';
import { AT, aProject, aStop, put, rewrite, start, stateOf } from '../../../support/drive/drive-project.ts';

/** A loop of this session, beside a contract that was torn. */
function torn(t: TestContext, sessionId: string | null): Project {
  const project = aProject(t);
  start(project, true);
  rewrite(project, { sessionId });
  put(project.files.contract, '{"torn');
  return project;
}

const BACKGROUND = { background_tasks: [{ id: 'b1', status: 'running' }] };

for (const [what, sessionId, env] of [
  ['of another session', 'session-2', {}],
  ['of another loop', 'session-2', { RALPH_LOOP_ID: 'loop-2' }],
  ['that no loop is bound to', null, {}],
  ['that a runner drives', 'session-1', { RALPH_DRIVER: 'runner' }],
] as const) {
  test(`A Stop ${what} is silently let through beside a contract that cannot be read.`, async (t) => {
    const project = torn(t, sessionId);
    const before = readFileSync(project.files.state, 'utf8');
    for (const payload of [{}, BACKGROUND]) assert.equal(await aStop(project, payload, env), null);
    assert.equal(readFileSync(project.files.state, 'utf8'), before);
  });
}

test('The session of the loop learns that its contract is lost, and the loop pauses.', async (t) => {
  for (const payload of [{}, BACKGROUND]) {
    const project = torn(t, 'session-1');
    const answer = await aStop(project, payload);
    assert.equal(answer?.decision, undefined);
    assert.match(answer?.systemMessage ?? '', /contract\.json is (?:empty|incomplete or not readable).* resume/);
    const state = stateOf(project);
    assert.equal(state.status === 'paused' && state.paused.reason, 'evidence-lost');
  }
});

test('A contract that cannot even be opened is treated alike.', async (t) => {
  for (const sessionId of ['session-1', 'session-2']) {
    const project = torn(t, sessionId);
    rmSync(project.files.contract);
    mkdirSync(project.files.contract);
    if (sessionId === 'session-1') assert.match((await aStop(project))?.systemMessage ?? '', /contract\.json is/);
    else assert.equal(await aStop(project), null);
  }
});

test('A contract that cannot be read is ignored where there is no state beside it.', async (t) => {
  const project = torn(t, 'session-1');
  rmSync(project.files.state);
  assert.equal(await aStop(project), null);
  assert.ok(existsSync(project.files.contract));
});

test('A four-key state beside an unreadable contract is reported as tampered with.', async (t) => {
  const project = torn(t, 'session-1');
  put(project.files.state, JSON.stringify({ iteration: 1, startedAt: AT, lastRunAt: AT, lastFindingsCount: null }));
  await assert.rejects(aStop(project), /cannot be read/);
});
