import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { postToolUse } from '../../../../src/drive/hook/tool-use.ts';
import type { HookAnswer } from '../../../../src/hosts/hook-io/stdio.ts';
import { DEAD_MS, prune, runFiles } from '../../../../src/state/task-folder/run-files.ts';
import { AT, aHook, aProject, type Project, rewrite, start } from '../../../support/drive/drive-project.ts';
import { aTaskFolder } from '../../../support/drive/folder-project.ts';

function called(
  project: Project,
  now: string,
  more: Record<string, unknown> = {},
  loop = 'job',
): Promise<HookAnswer | null> {
  const call = { tool_name: 'Bash', tool_input: {}, tool_use_id: 'c', cwd: project.directory, ...more };
  const context = aHook(project, 'PostToolUse', call, loop === '' ? {} : { RALPH_LOOP: loop });
  return postToolUse({ ...context, now: () => now });
}

function run(project: Project): ReturnType<typeof runFiles> {
  return runFiles(join(project.directory, 'job'));
}

function beats(project: Project, at: string): string[] {
  return prune(run(project), at).map((each) => each.at);
}

const LATER = '2026-02-28T10:40:00Z';

test('a tool call in a long iteration shows that the loop of a task folder is alive', async (t) => {
  const project = aTaskFolder(t);
  assert.ok(Date.parse(LATER) - Date.parse(AT) > DEAD_MS);
  assert.deepEqual(beats(project, LATER), [], 'the sign that the start gave is too old by now');
  assert.equal(await called(project, LATER), null);
  assert.deepEqual(beats(project, LATER), [LATER]);
});

test('tool calls write a heartbeat at most once a minute', async (t) => {
  const project = aTaskFolder(t);
  await called(project, LATER);
  const [name = ''] = readdirSync(run(project).activeDir);
  const path = join(run(project).activeDir, name);
  const first = readFileSync(path, 'utf8');
  await called(project, '2026-02-28T10:40:59Z');
  assert.equal(readFileSync(path, 'utf8'), first);
  await called(project, '2026-02-28T10:41:00Z');
  assert.notEqual(readFileSync(path, 'utf8'), first);
});

test('tool calls of another session write no heartbeat', async (t) => {
  const project = aTaskFolder(t);
  await called(project, LATER, { session_id: 'session-2' });
  assert.deepEqual(beats(project, LATER), []);
});

test('a loop on a plain prompt leaves no run state behind, and its contract is not read', async (t) => {
  const project = aProject(t);
  start(project, true);
  rewrite(project, { sessionId: 'session-1' });
  writeFileSync(project.files.contract, '{');
  await called(project, LATER, {}, '');
  assert.ok(!existsSync(join(project.directory, '.claude/ralph/.ralph-runner')));
  assert.ok(!existsSync(project.files.log), 'reading the contract would have been logged');
});

test('a state that points at another folder writes no heartbeat there', async (t) => {
  const project = aTaskFolder(t);
  mkdirSync(join(project.directory, 'other'));
  rewrite(project, { taskPath: 'other/RALPH.md' });
  await called(project, LATER);
  assert.deepEqual(readdirSync(join(project.directory, 'other')), []);
  assert.deepEqual(beats(project, LATER), [LATER]);
});

test('a heartbeat that cannot be written is logged, and the steering still reaches the agent', async (t) => {
  const project = aTaskFolder(t);
  rewrite(project, { steering: [{ id: 's', text: 'Use tabs.', delivery: 'now', at: AT }] });
  rmSync(run(project).dir, { recursive: true });
  mkdirSync(join(project.directory, 'away'));
  symlinkSync(join(project.directory, 'away'), run(project).dir);
  assert.match((await called(project, LATER))?.hookSpecificOutput?.additionalContext ?? '', /Use tabs\./);
  assert.match(readFileSync(project.files.log, 'utf8'), /mirror.*is no directory of its own/);
  assert.deepEqual(readdirSync(join(project.directory, 'away')), []);
});
