import assert from 'node:assert/strict';
import { test } from 'node:test';
import { followLoop } from '../../../../src/drive/records/live-events.ts';
import { aProject, aStop, start, stateOf } from '../../../support/drive/drive-project.ts';
import '../../../support/starts-processes.ts';

test("the message at the end of a session's loop names the next command once", async (t) => {
  const project = aProject(t, '---\nmax_iterations: 1\n---\nDo it.\n');
  start(project, true, 'refuse', new Date().toISOString());
  const { systemMessage = '' } = (await aStop(project, { last_assistant_message: 'Half of it.' })) ?? {};
  assert.match(systemMessage, /Stopped after 1 iteration[\s\S]*\n {2}Next: /);
  assert.equal(systemMessage.split('ralph-loop resume').length, 2, systemMessage);
});

test('who follows a loop learns that no session has joined it, and when one does', async (t) => {
  const project = aProject(t);
  const { state } = start(project, true, 'refuse', new Date().toISOString());
  const news = followLoop(project.files, state);
  const types = (): string[] => news().map((event) => (event.type === 'agent.notice' ? event.message : event.type));
  assert.match(types().join(), /No session has joined this loop yet/);
  assert.deepEqual(types(), [], 'control: once');
  await aStop(project, { last_assistant_message: 'Half of it.' }, { CLAUDE_PID: String(process.pid) });
  assert.equal(stateOf(project).clientPid, process.pid);
  assert.ok(types().includes('iteration.started'));
});
