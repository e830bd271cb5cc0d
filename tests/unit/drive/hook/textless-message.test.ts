import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { withState } from '../../../../src/state/with-state.ts';
import { aProject, aStop, type Project, start, stateOf } from '../../../support/drive/drive-project.ts';
import '../../../support/starts-processes.ts';

const CLAIM = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';

/** A loop whose transcript ends with a message that claims completion. */
function claimed(t: TestContext): { readonly project: Project; readonly path: string } {
  const project = aProject(t);
  start(project, true);
  const path = join(project.directory, 'transcript.jsonl');
  const message = { id: 'm1', content: [{ type: 'text', text: CLAIM }] };
  writeFileSync(path, `${JSON.stringify({ type: 'assistant', message })}\n`);
  return { project, path };
}

test('a turn whose last message has no text does not end with the claim of an earlier message', async (t) => {
  const { project, path } = claimed(t);
  const said = await aStop(project, { last_assistant_message: undefined, transcript_path: path });
  assert.equal(said?.decision, 'block');
  assert.equal(stateOf(project).status, 'running');
});

test('control: the claim ends the loop where it is the last message of the turn', async (t) => {
  const { project, path } = claimed(t);
  const said = await aStop(project, { last_assistant_message: CLAIM, transcript_path: path });
  assert.match(JSON.stringify(said), /Complete/);
});

test('the same words as before are another turn once the clock was set back, and the loop goes on', async (t) => {
  const project = aProject(t);
  start(project, true);
  const same = { prompt_id: 'p1', last_assistant_message: 'Nothing to do.' };
  assert.equal((await aStop(project, same))?.decision, 'block');
  assert.equal(await aStop(project, same), null, 'control: this process was there at the decision');
  const ahead = new Date(Date.now() + 3_600_000).toISOString();
  withState<void>(project.files, (current) => {
    assert.ok(current.kind === 'loop' && current.state.lastDecision && current.state.lastTurn);
    const lastDecision = { ...current.state.lastDecision, at: ahead };
    // Another process decided about the turn before.
    const lastTurn = { ...current.state.lastTurn, transcriptMark: '1' };
    return { next: { ...current.state, lastDecision, lastTurn }, result: undefined };
  });
  assert.equal((await aStop(project, same))?.decision, 'block');
  assert.equal(stateOf(project).iteration, 2);
});
