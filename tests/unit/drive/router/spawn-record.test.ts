import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { operate } from '../../../../src/drive/control/operate.ts';
import { readSpawn, updateSpawn } from '../../../../src/drive/router/router.ts';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { AT, aProject, put, rewrite, stateOf } from '../../../support/drive/drive-project.ts';
import { called, goneClient, host, spawned, startedRouter } from '../../../support/drive/router-project.ts';

for (const [what, left] of [
  ['lost', ''],
  ['of another version', (record: string) => JSON.stringify({ ...JSON.parse(record), answer: { spawn: 2 } })],
  ['without an end', (record: string) => record.replace('"spawn":2', '"spawn":1e308')],
] as const) {
  test(`where the record of spawns is ${what}, the next spawn gets its own number and counts once`, async (t) => {
    const project = aProject(t);
    startedRouter(project);
    await spawned(project);
    await spawned(project, { spawn: 1, text: 'One.' });
    const record = join(project.files.outsideDir, 'router.json');
    put(record, left === '' ? '' : left(readFileSync(record, 'utf8')));
    const next = await spawned(project, { spawn: 2, text: 'Two, of nobody.' });
    assert.deepEqual([next.spawn, next.iteration, stateOf(project).iteration], [3, 2, 1]);
    assert.match(next.prompt, /Do the work\./);
    const after = await spawned(project, { spawn: 3, text: 'Three.' });
    assert.deepEqual([after.spawn, stateOf(project).iteration], [4, 2]);
  });
}

test('recording a spawn leaves what the next holder has handed out alone', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  const before = readSpawn(project.files);
  assert.ok(before !== null);
  rewrite(project, await goneClient());
  await spawned(project, null, { env: host('host-2') });
  const heirs = readSpawn(project.files);
  updateSpawn(project.files, before, { heard: true });
  assert.deepEqual(readSpawn(project.files), heirs);
  assert.equal(heirs?.answer.spawn, 2);
});

test('the prompt file exists unchanged each time it is named', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  const { promptFile, prompt } = await spawned(project);
  const path = join(project.directory, promptFile ?? '');
  for (const spoil of [() => put(path, 'Do something else.'), () => rmSync(path)]) {
    spoil();
    await spawned(project);
    assert.equal(readFileSync(path, 'utf8'), prompt);
  }
});

test('counts the report of one subagent for one spawn only', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  const told = { agent: 'a1', text: 'One.' };
  for (const spawn of [1, 1, null]) assert.equal((await spawned(project, { ...told, spawn })).spawn, 2, `${spawn}`);
  await assert.rejects(called(project, { ...told, spawn: 2 }), /Subagent a1 already reported for an earlier spawn/);
  assert.equal(stateOf(project).iteration, 1);
  await spawned(project, { agent: 'a2', text: 'One.', spawn: 2 });
  assert.equal(stateOf(project).iteration, 2);
});

test('counts the report of a subagent only for the loop whose prompt it was given', async (t) => {
  const project = aProject(t);
  put(join(project.directory, 'tasks/b/RALPH.md'), '---\nmax_iterations: 5\n---\nWork on b.\n');
  const other = { ...project, files: loopFiles(project.directory, 'b', project.env) };
  startedRouter(project);
  startedRouter(other, { name: 'b', task: 'tasks/b/RALPH.md' });
  const { prompt } = await spawned(project);
  await spawned(other);
  const one = { spawn: 1, agent: 'a1', text: 'One.' };
  for (const given of [prompt, 'Read the whole file .claude/context/runtime/ralph-prompt.md and follow it.'])
    await assert.rejects(called(other, { ...one, prompt: given }), /a1 works for the default loop.*that assigned it/);
  await spawned(project, { ...one, prompt });
  await assert.rejects(
    called(other, { ...one, prompt }),
    /a1 works for the default loop/,
    'its prompt is the next one',
  );
  assert.deepEqual([stateOf(project).iteration, stateOf(other).iteration], [1, 0]);
  const { prompt: own } = await spawned(other);
  await spawned(other, { ...one, agent: 'b1', prompt: own });
  assert.equal(stateOf(other).iteration, 1, 'control');
  operate(project.files, project.env, AT, () => ({ kind: 'cancel' }));
  await assert.rejects(called(other, { ...one, spawn: 2, prompt }), /That loop has ended/);
});
