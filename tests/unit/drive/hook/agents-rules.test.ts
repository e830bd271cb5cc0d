import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guardRules } from '../../../../src/drive/hook/guard-context.ts';
import type { Contract } from '../../../../src/engine/schema/contract.ts';
import { loopFiles } from '../../../../src/state/loop-files.ts';

const files = loopFiles('/project', null, { XDG_STATE_HOME: '/state' });
const guardrails: Contract['guardrails'] = {
  blockCommands: ['git push'],
  shellAllow: null,
  protectedFiles: [],
  privateFiles: [],
  strict: false,
};
const contract = {
  loopId: 'loop-1',
  task: null,
  policy: {},
  taskPath: 'PROMPT.md',
  bundleDir: null,
  guardrails,
} as unknown as Contract;

const rulesFor = (env: NodeJS.ProcessEnv): unknown =>
  guardRules(files, { HOME: '/home', ...env }, { hash: 'h', contract }).guardrails;

test("the user's rules apply in a session and to the agent of this loop's own runner", () => {
  assert.equal(rulesFor({ RALPH_LOOP_ID: 'loop-1' }), guardrails);
  assert.equal(rulesFor({ RALPH_DRIVER: 'runner', RALPH_LOOP_ID: 'loop-1' }), guardrails);
});

test("the user's rules do not apply to another runner", () => {
  assert.equal(rulesFor({ RALPH_DRIVER: 'runner', RALPH_LOOP_ID: 'loop-2' }), null);
  assert.equal(rulesFor({ RALPH_DRIVER: 'runner' }), null);
});
