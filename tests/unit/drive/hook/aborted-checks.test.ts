import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runEffects } from '../../../../src/drive/effects/run-effects.ts';
import { hookDriver } from '../../../../src/drive/hook/stop/hook-driver.ts';
import { openTurn } from '../../../../src/drive/hook/stop/open-turn.ts';
import { TURN_OVER } from '../../../../src/drive/turn/turn.ts';
import { readState } from '../../../../src/state/loop-files.ts';
import '../../../support/starts-processes.ts';
import { AT, aHook, aProject, aStop, rewrite, start } from '../../../support/drive/drive-project.ts';

const SLOW = '---\nvalidation: ["sleep 60"]\n---\n\nDo the work.\n';
const NOTHING_TO_CHECK = 'Do the work.\n';

for (const [ends, task] of [
  ['by rejecting', SLOW],
  ['by an answer', NOTHING_TO_CHECK],
] as const) {
  test(`a hook that is asked to exit during checks, which end ${ends}, pauses the loop as interrupted`, async (t) => {
    const project = aProject(t, task);
    start(project, true);
    rewrite(project, { sessionId: 'session-1', status: 'verifying', verifying: { since: AT } });
    const told = new AbortController();
    const opened = openTurn(aHook(project, 'Stop'), () => told.signal, Date.now() + 60_000);
    assert.ok('turn' in opened);
    const answered = runEffects(opened.turn, hookDriver([]), [{ type: 'verify' }]);
    if (ends === 'by an answer') told.abort();
    else setTimeout(() => told.abort(), 300);
    assert.equal(await answered, null);
    const after = readState(project.files.state);
    assert.ok(after.kind === 'loop' && after.state.status === 'paused');
    assert.equal(after.state.paused.reason, 'interrupted');
  });
}

test('a hook whose turn its client has forgotten leaves the loop as it is; one asked to exit pauses it', async (t) => {
  for (const [reason, status] of [
    [TURN_OVER, 'verifying'],
    ['SIGTERM', 'paused'],
  ] as const) {
    const project = aProject(t, SLOW);
    start(project, true);
    rewrite(project, { sessionId: 'session-1', status: 'verifying', verifying: { since: AT } });
    const told = new AbortController();
    const opened = openTurn(aHook(project, 'Stop'), () => told.signal, Date.now() + 60_000);
    assert.ok('turn' in opened);
    const answered = runEffects(opened.turn, hookDriver([]), [{ type: 'verify' }]);
    setTimeout(() => told.abort(reason), 300);
    assert.equal(await answered, null);
    const after = readState(project.files.state);
    assert.equal(after.kind === 'loop' && after.state.status, status);
  }
});

for (const [loss, run, said] of [
  ['removes', 'rm -r .claude/context', /state file of this loop is missing/],
  ['breaks', 'printf "{" > .claude/context/runtime/ralph-state.json', /state file is corrupt/],
  ['keeps', 'true', /Complete/],
] as const) {
  test(`a Stop whose check ${loss} the state says so itself: no further Stop may come`, async (t) => {
    const project = aProject(t, `---\nvalidation: ['${run}']\n---\n\nDo the work.\n`);
    start(project, true);
    const answer = await aStop(project, { last_assistant_message: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS' });
    assert.match(answer?.systemMessage ?? '', said);
    assert.equal(answer?.decision, undefined);
  });
}
