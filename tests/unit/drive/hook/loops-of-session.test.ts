import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { guardedLoop } from '../../../../src/drive/hook/guarded-loop.ts';
import { forEachLoopOfSession } from '../../../../src/drive/hook/tool-use.ts';
import { lostBy } from '../../../../src/state/evidence/evidence.ts';
import { findLoop } from '../../../../src/state/loop-files.ts';
import { aHook, aProject, put, start } from '../../../support/drive/drive-project.ts';

const STATES = [
  'ralph-state.json',
  'ralph-archive/x.json',
  'ralph-state.lint.json',
  'ralph-state..evil.json',
  'ralph-events.jsonl',
];
const ROUTER = { RALPH_DRIVER: 'router' };
const says = (text: string): { hookSpecificOutput: { hookEventName: 'PreToolUse'; additionalContext: string } } => ({
  hookSpecificOutput: { hookEventName: 'PreToolUse', additionalContext: text },
});

test("a tool hook in a router's subagent decides for every loop of the project and reports all messages", async (t) => {
  const project = aProject(t);
  mkdirSync(project.files.runtimeDir, { recursive: true });
  for (const name of STATES) put(join(project.files.runtimeDir, name), '{}');
  const asked: (string | null)[] = [];
  const answer = await forEachLoopOfSession(aHook(project, 'PreToolUse', {}, ROUTER), ({ files }) => {
    asked.push(files.name);
    return says(files.name ?? 'default');
  });
  assert.deepEqual(asked.sort(), ['lint', null].sort());
  assert.deepEqual(answer?.hookSpecificOutput?.additionalContext?.split('\n').sort(), ['default', 'lint']);
});

test('the first loop that refuses the call decides', async (t) => {
  const project = aProject(t);
  for (const name of STATES) put(join(project.files.runtimeDir, name), '{}');
  const denied = { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny' as const } };
  const context = aHook(project, 'PreToolUse', {}, ROUTER);
  assert.equal(await forEachLoopOfSession(context, ({ files }) => (files.name === 'lint' ? denied : null)), denied);
});

test('a tool hook of a session decides only for the loop of its environment, if any', async (t) => {
  const project = aProject(t);
  const asked: (string | null)[] = [];
  const note = ({ files }: { files: { name: string | null } }): null => {
    asked.push(files.name);
    return null;
  };
  await forEachLoopOfSession(aHook(project, 'PreToolUse', {}, { RALPH_LOOP: 'lint' }), note);
  assert.deepEqual(asked, ['lint']);
  await forEachLoopOfSession(aHook(project, 'PreToolUse', {}, ROUTER), note);
  assert.deepEqual(asked, ['lint']);
});

test('a loop that begins while a hook reads loses no evidence; control: one whose contract is gone does', async (t) => {
  const project = aProject(t);
  const { files } = project;
  const before = findLoop(files);
  const { loopId } = start(project, true).stored.contract;
  const env = { ...project.env, RALPH_LOOP_ID: loopId };
  assert.equal(before.contract, 'absent');
  assert.equal(await guardedLoop(before, files, env, 'session'), 'unreadable');
  rmSync(files.contract);
  await assert.rejects(guardedLoop(before, files, env, 'session'), (error) => lostBy(error)?.why === 'missing');
});
