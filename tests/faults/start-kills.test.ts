import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { preToolUse } from '../../src/drive/hook/tool-use.ts';
import { readState } from '../../src/state/loop-files.ts';
import { aHook, aProject, aStop, type Project, start } from '../support/drive/drive-project.ts';
import { bundleProgram, scratch } from '../support/faults/bundle-state.ts';
import { IS_LONG } from '../support/short-form.ts';

const { directory, remove } = scratch('memory');
let killer: string;
before(async () => {
  killer = await bundleProgram('start-kill', directory);
});
after(remove);

/** Every how many changes of the disk a kill is tried; 1 tries them all. */
const STEP = Number(process.env['KILL_STEP'] ?? (IS_LONG ? 3 : 23));
/** A session in which no loop was started, and which would join one. */
const JOINING = { RALPH_ACTIVE: '1' };

/** A project with a loop that awaits its session. */
function aWaitingLoop(t: TestContext): Project {
  const project = aProject(t, '---\nvalidation: ["true"]\n---\nDo it.\n');
  start(project, true, 'refuse', new Date().toISOString());
  return project;
}

/** A call of a session that no loop was started for. */
function aWrite(project: Project) {
  const tool_input = { file_path: join(project.directory, 'a.txt'), content: '' };
  const write = { tool_name: 'Write', tool_input, tool_use_id: 'c', cwd: project.directory };
  return preToolUse(aHook(project, 'PreToolUse', write, JOINING));
}

for (const over of ['nothing', 'a loop that awaits its session'])
  test(`a start over ${over} that is killed at any moment holds no session and can be repeated`, async (t) => {
    const seen = { whole: 0, gone: 0 };
    for (let n = 1; ; n += STEP) {
      const project = over === 'nothing' ? aProject(t) : aWaitingLoop(t);
      const words = [killer, dirname(project.directory), String(n)];
      const { stdout, signal, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
      assert.ok(signal === 'SIGKILL' || stdout === 'passed\n', stderr);
      assert.equal(await aWrite(project), null, `call ${n}`);
      const { kind } = readState(project.files.state);
      seen[kind === 'absent' ? 'gone' : 'whole'] += 1;
      const stopped = await aStop(project, {}, JOINING);
      assert.equal(stopped?.decision, kind === 'absent' ? undefined : 'block', `call ${n}: ${stopped?.systemMessage}`);
      assert.doesNotMatch(JSON.stringify(stopped), /Evidence|another program/, `call ${n}`);
      start(project, true, 'fresh', new Date().toISOString());
      assert.equal((await aStop(project, {}, JOINING))?.decision, 'block', `call ${n}: the repeated start`);
      if (stdout === 'passed\n') break;
    }
    assert.ok(seen.whole > 0 && seen.gone > 0, JSON.stringify(seen));
  });

test('control: a loop that lacks its counters holds a session, also if its state is deleted with them', async (t) => {
  const project = aWaitingLoop(t);
  await aStop(project, {}, JOINING);
  rmSync(project.files.counters);
  const lost = await aWrite(project);
  assert.match(lost?.hookSpecificOutput?.permissionDecisionReason ?? '', /counters\.json is missing/);
  rmSync(project.files.state);
  const { files } = project;
  const write = { tool_name: 'Write', tool_input: { file_path: files.contract, content: '' }, tool_use_id: 'c' };
  const denied = await preToolUse(aHook(project, 'PreToolUse', { ...write, session_id: 'other', cwd: '/' }, JOINING));
  assert.equal(denied?.hookSpecificOutput?.permissionDecision, 'deny');
});
