import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { preToolUse } from '../../../../src/drive/hook/tool-use.ts';
import { renewEvidence } from '../../../../src/drive/start/live/renew-evidence.ts';
import type { LoopState } from '../../../../src/engine/schema/state.ts';
import { readNotices } from '../../../../src/state/loop-files.ts';
import { withState } from '../../../../src/state/with-state.ts';
import { aHook, aStop, type Project, stateOf } from '../../../support/drive/drive-project.ts';
import { someOf } from '../../../support/short-form.ts';
import { aProtectedLoop } from '../../../support/snapshot/guarded-project.ts';
import '../../../support/starts-processes.ts';

const DONE = { last_assistant_message: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS' };

/** Files outside the project that the loop rests on. */
const FILES: Readonly<Record<string, (project: Project) => string>> = {
  'contract.json': ({ files }) => files.contract,
  'evidence.json': ({ files }) => files.evidence,
  'snapshot.json': ({ files }) => `${files.snapshot}.json`,
  'snapshot.look': ({ files }) => `${files.snapshot}.look`,
  'seen.json': ({ files }) => files.seen,
  'snapshot+pack': ({ files }) =>
    join(files.outsideDir, JSON.parse(readFileSync(`${files.snapshot}.json`, 'utf8')).pack),
};

const LOSSES: Readonly<Record<string, (path: string) => void>> = {
  missing: (path) => rmSync(path),
  empty: (path) => truncateSync(path),
  incomplete: (path) => truncateSync(path, readFileSync(path).length >> 1),
};

const RUN = { tool_name: 'Bash', tool_input: { command: 'make' }, tool_use_id: 'call', cwd: '/' };
const READ = { tool_name: 'Read', tool_input: { file_path: '/etc/hostname' }, tool_use_id: 'read', cwd: '/' };

for (const [file, pathOf] of Object.entries(FILES))
  for (const [what, lose] of someOf(Object.entries(LOSSES), 2))
    test(`without its ${file}, which is ${what}, a session refuses the claim and pauses`, async (t) => {
      const project = aProtectedLoop(t);
      lose(pathOf(project));
      const named = new RegExp(file.replace(/[.+]/g, '\\$&'));
      // The next call notices everything but what nothing has needed yet.
      if (file !== 'evidence.json' && file !== 'seen.json') {
        const { hookSpecificOutput: denied } = (await preToolUse(aHook(project, 'PreToolUse', RUN))) ?? {};
        assert.equal(denied?.permissionDecision, 'deny');
        assert.match(denied?.permissionDecisionReason ?? '', named);
      }
      assert.equal(await preToolUse(aHook(project, 'PreToolUse', READ)), null, 'reading is allowed');
      assert.match((await aStop(project, DONE))?.systemMessage ?? '', named);
      const state = stateOf(project);
      assert.equal(state.status === 'paused' && state.paused.reason, 'evidence-lost');
      renewEvidence(project.files, project.env, new Date().toISOString(), project.directory);
      assert.equal(stateOf(project).status, 'running');
      assert.ok(readNotices(project.files).some(({ kind, text }) => kind === 'evidence' && /new start/.test(text)));
      assert.equal(await preToolUse(aHook(project, 'PreToolUse', RUN)), null, 'the loop continues');
    });

test('control: with its evidence whole, or put back as it was, a session goes on', async (t) => {
  const project = aProtectedLoop(t);
  for (const pathOf of Object.values(FILES)) {
    const path = pathOf(project);
    copyFileSync(path, `${path}.copy`);
    writeFileSync(path, readFileSync(`${path}.copy`));
  }
  assert.equal(await preToolUse(aHook(project, 'PreToolUse', RUN)), null);
  assert.match((await aStop(project, DONE))?.systemMessage ?? '', /Complete/);
});

test('a launched session whose state and contract are gone may only read', async (t) => {
  const project = aProtectedLoop(t);
  const { loopId } = stateOf(project);
  const launched = { RALPH_LOOP_ID: loopId };
  rmSync(project.files.state);
  rmSync(project.files.contract);
  const answer = await preToolUse(aHook(project, 'PreToolUse', RUN, launched));
  assert.equal(answer?.hookSpecificOutput?.permissionDecision, 'deny');
  assert.equal(await preToolUse(aHook(project, 'PreToolUse', READ, launched)), null);
  assert.equal(await preToolUse(aHook(project, 'PreToolUse', RUN)), null, 'control: a session without a loop');
});

test('a Stop says that the state is missing while background work runs, too', async (t) => {
  const project = aProtectedLoop(t);
  await aStop(project, { prompt_id: 'p1' });
  rmSync(project.files.state);
  const running = { id: 'b1', type: 'shell', status: 'running', command: 'npm test' };
  const answer = await aStop(project, { ...DONE, background_tasks: [running] });
  assert.match(answer?.systemMessage ?? '', /state file of this loop is missing/);
});

test('without its state, the rules of a loop hold in its session, and a Stop says what is missing', async (t) => {
  const project = aProtectedLoop(t);
  await aStop(project, { prompt_id: 'p1' });
  const counters = readFileSync(project.files.counters);
  rmSync(project.files.state);
  const write = { ...RUN, tool_name: 'Write', tool_input: { file_path: project.files.contract, content: '' } };
  const answer = await preToolUse(aHook(project, 'PreToolUse', write));
  assert.equal(answer?.hookSpecificOutput?.permissionDecision, 'deny');
  assert.match((await aStop(project, DONE))?.systemMessage ?? '', /state file of this loop is missing/);
  const other = { session_id: 'session-2' };
  assert.equal(
    await preToolUse(aHook(project, 'PreToolUse', { ...write, ...other })),
    null,
    'control: another session',
  );
  assert.equal(await aStop(project, { ...DONE, ...other }), null, 'control: another session');
  rmSync(project.files.counters);
  const unknown = await preToolUse(aHook(project, 'PreToolUse', write));
  assert.equal(unknown?.hookSpecificOutput?.permissionDecision, 'deny', 'nothing says whose session it is');
  writeFileSync(project.files.counters, counters);
  rmSync(project.files.contract);
  const lost = await preToolUse(aHook(project, 'PreToolUse', RUN));
  assert.match(lost?.hookSpecificOutput?.permissionDecisionReason ?? '', /contract\.json is missing/);
});

const moveTo = ({ files }: Project, change: object): void =>
  withState<void>(files, (current) => {
    assert.equal(current.kind, 'loop');
    return { next: { ...(current as { state: LoopState }).state, ...change }, result: undefined };
  });

const TAKEN_AWAY = {
  'of another session': { sessionId: 'session-2', clientPid: null, clientStartedAt: null },
  'of a runner': { mode: 'runner' },
};

for (const [what, change] of Object.entries(TAKEN_AWAY))
  test(`a state that another program rewrites as ${what} frees no session`, async (t) => {
    const project = aProtectedLoop(t);
    await aStop(project, { prompt_id: 'p1' });
    const rewrite = () => writeFileSync(project.files.state, JSON.stringify({ ...stateOf(project), ...change }));
    rewrite();
    const write = { ...RUN, tool_name: 'Write', tool_input: { file_path: project.files.contract, content: '' } };
    const other = { session_id: 'session-3' };
    assert.equal(
      await preToolUse(aHook(project, 'PreToolUse', { ...write, ...other })),
      null,
      'control: another session',
    );
    assert.equal(await aStop(project, { ...DONE, ...other }), null, 'control: another session');
    const denied = await preToolUse(aHook(project, 'PreToolUse', write));
    assert.equal(denied?.hookSpecificOutput?.permissionDecision, 'deny');
    const stopped = await aStop(project, { last_assistant_message: 'More to do.' });
    assert.match(stopped?.systemMessage ?? '', /state was changed by another program/);
    const { sessionId, mode, iteration } = stateOf(project);
    assert.deepEqual({ sessionId, mode, iteration }, { sessionId: 'session-1', mode: 'hook', iteration: 2 });
    // What a process of ours writes is believed.
    moveTo(project, change);
    assert.equal(await preToolUse(aHook(project, 'PreToolUse', write)), null, 'control: the loop went elsewhere');
    assert.equal(await aStop(project, DONE), null, 'control: the loop went elsewhere');
  });

test('a state that another program rewrites as ended frees no session before its Stop ends the loop', async (t) => {
  const project = aProtectedLoop(t);
  await aStop(project, { prompt_id: 'p1' });
  const ended = { at: new Date().toISOString(), as: 'cancelled', message: 'Cancelled.', verified: false };
  writeFileSync(project.files.state, JSON.stringify({ ...stateOf(project), status: 'ended', ended }));
  const write = { ...RUN, tool_name: 'Write', tool_input: { file_path: project.files.contract, content: '' } };
  const denied = await preToolUse(aHook(project, 'PreToolUse', write));
  assert.equal(denied?.hookSpecificOutput?.permissionDecision, 'deny');
  assert.match((await aStop(project, DONE))?.systemMessage ?? '', /Cancelled\./);
  assert.equal(await preToolUse(aHook(project, 'PreToolUse', write)), null, 'control: the loop has ended');
});
