import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { shownLoop } from '../../../../src/cli/web/shown-loop.ts';
import { operate } from '../../../../src/drive/control/operate.ts';
import { sessionStart } from '../../../../src/drive/hook/session-start.ts';
import { userPromptSubmit } from '../../../../src/drive/hook/user-prompt-submit.ts';
import { storeCost } from '../../../../src/drive/records/client-figures.ts';
import { readStream } from '../../../../src/state/event-stream.ts';
import { lastArchived } from '../../../../src/state/with-state.ts';
import { rowOf } from '../../../../src/web/model/collect-report.ts';
import { AT, aHook, aProject, aStop, type Project, put, start, stateOf } from '../../../support/drive/drive-project.ts';
import '../../../support/starts-processes.ts';

/** The status line stores what the client reports of its whole session. */
const report = ({ files }: Project, costUsd: number): void =>
  put(files.cost, JSON.stringify({ sessionId: 'session-1', costUsd, at: AT }));

function costs({ files }: Project, loopId: string): unknown[] {
  const found: unknown[] = [];
  readStream(files, loopId, 0, (event) => {
    if (event['type'] === 'iteration.ended')
      found.push((event['agent'] as { costUsd?: unknown } | undefined)?.costUsd ?? null);
  });
  return found;
}

test('an iteration whose cost the client has not reported yet has none, and the loop keeps the sum', async (t) => {
  const project = aProject(t);
  const { loopId } = start(project, true).state;
  report(project, 0);
  await aStop(project, { last_assistant_message: 'One.' });
  report(project, 0.25);
  await aStop(project, { last_assistant_message: 'Two.' });
  await aStop(project, { last_assistant_message: 'Three.' });
  assert.deepEqual(costs(project, loopId), [null, 0.25, null]);
  assert.equal(stateOf(project).usage.costUsd, 0.25);
});

test('report and dashboard show what the client has reported since the last turn, as status does', async (t) => {
  const project = aProject(t);
  start(project, true);
  report(project, 0.25);
  await aStop(project);
  report(project, 0.75);
  const loop = shownLoop(project.files);
  assert.equal(loop && rowOf(loop).costUsd, 0.75);
});

test('a loop that ends after its checks has the cost that the client reported while they ran', async (t) => {
  const late = JSON.stringify({ sessionId: 'session-1', costUsd: 0.75, at: AT });
  const run = `echo '${late}' > .claude/context/runtime/ralph-cost.json`;
  const project = aProject(t, `---\nvalidation:\n  - ${JSON.stringify(run)}\n---\nWork.\n`);
  start(project, true);
  report(project, 0.25);
  const answer = await aStop(project, { last_assistant_message: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS' });
  const { status, usage } = lastArchived(project.files)?.state ?? {};
  assert.deepEqual([status, usage?.costUsd], ['ended', 0.75], JSON.stringify(answer));
});

test('a cancelled loop keeps the cost that the client reported after its last turn', async (t) => {
  const project = aProject(t);
  start(project, true);
  report(project, 0.25);
  await aStop(project);
  report(project, 0.75);
  operate(project.files, project.env, AT, () => ({ kind: 'cancel' }));
  assert.equal(existsSync(project.files.state), false);
  assert.equal(lastArchived(project.files)?.state.usage.costUsd, 0.75);
});

test('a session to which /resume returns is not billed again, nor are its subagents', async (t) => {
  const project = aProject(t);
  const { loopId } = start(project, true).state;
  const env = { CLAUDE_PID: String(process.pid), RALPH_LOOP_ID: loopId };
  const transcripts = join(project.directory, '..', 'transcripts');
  const begin = async (session_id: string, source: string): Promise<Record<string, unknown>> => {
    const session = { session_id, transcript_path: join(transcripts, `${session_id}.jsonl`) };
    await sessionStart(aHook(project, 'SessionStart', { ...session, source }, env));
    await userPromptSubmit(aHook(project, 'UserPromptSubmit', { ...session, prompt: 'Go on.' }, env));
    return session;
  };
  const spend = (file: string, session_id: string, total_cost_usd: number): void => {
    mkdirSync(dirname(join(transcripts, file)), { recursive: true });
    const message = { id: `${file} at ${total_cost_usd}`, usage: { input_tokens: 100 } };
    appendFileSync(join(transcripts, file), `${JSON.stringify({ type: 'assistant', message })}\n`);
    storeCost(project.files, JSON.stringify({ session_id, cost: { total_cost_usd } }), AT);
  };
  const usage = (): unknown[] => [stateOf(project).usage.costUsd, stateOf(project).usage.inputTokens];

  const first = await begin('first', 'startup');
  spend('first.jsonl', 'first', 0.25);
  await aStop(project, first, env);
  spend('first.jsonl', 'first', 0.5);
  spend('first/subagents/agent-1.jsonl', 'first', 0.75);
  const other = await begin('other', 'clear');
  assert.deepEqual(usage(), [0.75, 300], 'with what the client wrote after the Stop');
  spend('other.jsonl', 'other', 0.125);
  await aStop(project, { ...other, last_assistant_message: 'Elsewhere.' }, env);
  await begin('first', 'resume');
  assert.deepEqual(usage(), [0.875, 400], 'control: nothing was spent');
  storeCost(project.files, JSON.stringify({ session_id: 'first', cost: { total_cost_usd: 0.75 } }), AT);
  spend('first.jsonl', 'first', 1);
  await aStop(project, { ...first, last_assistant_message: 'Back.' }, env);
  assert.deepEqual(usage(), [1.125, 500]);
  storeCost(project.files, JSON.stringify({ session_id: 'third', cost: { total_cost_usd: 0 } }), AT);
  const third = await begin('third', 'clear');
  spend('third.jsonl', 'third', 2);
  await aStop(project, { ...third, last_assistant_message: 'Elsewhere again.' }, env);
  assert.deepEqual(usage(), [3.125, 600], 'a session that has reported zero begins at zero');
});
