import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { postToolUse } from '../../../../src/drive/hook/tool-use.ts';
import { acceptContract, changedContract } from '../../../../src/drive/start/live/accept-contract.ts';
import { undeliveredText } from '../../../../src/drive/status/ended-loop.ts';
import type { StateOf } from '../../../../src/engine/schema/state.ts';
import {
  AT,
  aHook,
  aProject,
  aStop,
  PERSON,
  type Project,
  put,
  rewrite,
  start,
  stateOf,
} from '../../../support/drive/drive-project.ts';

/** A loop of session-1 whose user has just accepted another check. */
function anAccepted(t: TestContext): Project {
  const project = aProject(t, '---\nvalidation: ["sh verify.sh"]\n---\nDo the work.\n');
  start(project, true);
  rewrite(project, { sessionId: 'session-1' });
  put(join(project.directory, '.claude/ralph/PROMPT.md'), '---\nvalidation: ["true"]\n---\nDo the work.\n');
  acceptContract(project.files, project.env, AT, changedContract(project.files, project.env), PERSON);
  return project;
}

const CHANGE = 'was changed by ralph-loop accept: validation: sh verify.sh (300 s) -> true (300 s).';

test('the next tool call reports an accepted change to user and agent, once', async (t) => {
  const project = anAccepted(t);
  const call = { tool_name: 'Bash', tool_input: { command: 'ls' }, tool_use_id: 'c', cwd: project.directory };
  const answer = await postToolUse(aHook(project, 'PostToolUse', call));
  assert.ok(answer?.systemMessage?.includes(CHANGE), JSON.stringify(answer));
  assert.ok(answer?.hookSpecificOutput?.additionalContext?.includes(CHANGE));
  assert.equal(await postToolUse(aHook(project, 'PostToolUse', call)), null);
});

test('without a tool call the next Stop reports it to both', async (t) => {
  const project = anAccepted(t);
  const answer = await aStop(project);
  assert.equal(answer?.decision, 'block');
  assert.ok(answer?.systemMessage?.includes(CHANGE), answer?.systemMessage);
  assert.ok(answer?.reason?.includes(CHANGE), answer?.reason);
});

test('an announcement that was never delivered does not count as a message of the user', (t) => {
  const project = anAccepted(t);
  const state = stateOf(project);
  const ended = { at: AT, as: 'stopped', message: 'x', verified: false } as const;
  assert.equal(undeliveredText({ ...state, status: 'ended', ended } as StateOf<'ended'>), null);
});
