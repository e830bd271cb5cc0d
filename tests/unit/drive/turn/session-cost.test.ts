import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { shownLoop } from '../../../../src/cli/web/shown-loop.ts';
import { operate } from '../../../../src/drive/control/operate.ts';
import { readStream } from '../../../../src/state/event-stream.ts';
import { lastArchived } from '../../../../src/state/with-state.ts';
import { rowOf } from '../../../../src/web/model/collect-report.ts';
import { AT, aProject, aStop, type Project, put, start, stateOf } from '../../../support/drive/drive-project.ts';
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
