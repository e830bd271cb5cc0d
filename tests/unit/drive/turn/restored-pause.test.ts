import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { operate } from '../../../../src/drive/control/operate.ts';
import { userPromptSubmit } from '../../../../src/drive/hook/user-prompt-submit.ts';
import type { Project } from '../../../support/drive/drive-project.ts';
import { AT, aHook, aProject, aStop, rewrite, start, stateOf } from '../../../support/drive/drive-project.ts';

/** The user's loop, bound to session-1, in the middle of an iteration. */
function running(t: TestContext): Project {
  const project = aProject(t);
  start(project, true);
  rewrite(project, { sessionId: 'session-1', turn: 'agent', promptId: 'prompt-1', iteration: 2 });
  return project;
}

function forged(project: Project): void {
  rewrite(project, { status: 'running', paused: undefined, maxIterations: 99 });
}

const command = (project: Project, kind: 'pause' | 'resume'): unknown =>
  operate(project.files, project.env, AT, () => ({ kind }));

test('A loop that the user had paused is restored as paused after its state was rewritten, and resumes.', async (t) => {
  const project = running(t);
  command(project, 'pause');
  forged(project);
  const answer = await aStop(project);
  assert.equal(answer?.decision, undefined);
  assert.match(answer?.systemMessage ?? '', /was changed by another program.*Paused by the user/s);
  const { status, maxIterations } = stateOf(project);
  assert.deepEqual([status, maxIterations], ['paused', 25]);
  command(project, 'resume');
  assert.equal((await aStop(project, { last_assistant_message: 'More work.' }))?.decision, 'block');
});

test('So is one that the user had interrupted.', async (t) => {
  const project = running(t);
  userPromptSubmit(aHook(project, 'UserPromptSubmit', { prompt: 'Wait!', prompt_id: 'prompt-2' }));
  assert.equal(stateOf(project).status, 'paused');
  forged(project);
  assert.equal((await aStop(project))?.decision, undefined);
  const state = stateOf(project);
  assert.equal(state.status === 'paused' && state.paused.reason, 'interrupted');
});

test('Reports about a paused loop and events of other loops end no pause.', async (t) => {
  const project = running(t);
  command(project, 'pause');
  operate(project.files, project.env, AT, () => ({ kind: 'steer', id: '1', text: 'Look.', delivery: 'next' }));
  appendFileSync(project.files.events, '{"type":"loop.resumed","loopId":"loop-2"}\nnull\n{"torn\n{"loopId":5}\n');
  forged(project);
  await aStop(project);
  assert.equal(stateOf(project).status, 'paused');
});

test('A loop that continued after its pause is restored as running.', async (t) => {
  const went = [
    (project: Project) => command(project, 'resume'),
    (project: Project) =>
      appendFileSync(project.files.events, `{"type":"iteration.completed","loopId":"${stateOf(project).loopId}"}\n`),
  ];
  for (const goOn of went) {
    const project = running(t);
    command(project, 'pause');
    goOn(project);
    forged(project);
    assert.equal((await aStop(project))?.decision, 'block');
  }
});

test('A pause that the user did not ask for (a rate limit) is not restored: its client works.', async (t) => {
  const project = running(t);
  const { loopId } = stateOf(project);
  appendFileSync(project.files.events, `{"type":"loop.paused","loopId":"${loopId}","reason":"rate-limited"}\n`);
  forged(project);
  assert.equal((await aStop(project))?.decision, 'block');
});

test('Nonsense in the journal under the loop’s own id does not prevent a restore.', async (t) => {
  const project = running(t);
  const { loopId } = stateOf(project);
  const record = { loopId, iteration: 4, idleIterations: -1, findings: 'many', endedAt: 'soon' };
  appendFileSync(project.files.events, `${JSON.stringify({ type: 'iteration.ended', ...record })}\n`);
  forged(project);
  assert.equal((await aStop(project))?.decision, 'block');
  const { iteration, lastFindingsCount } = stateOf(project);
  // The kept count, not the one of the record.
  assert.deepEqual([iteration, lastFindingsCount], [3, null]);
});
