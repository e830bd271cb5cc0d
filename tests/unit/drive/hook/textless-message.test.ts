import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
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
