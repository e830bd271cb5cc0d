import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readSpawn, updateSpawn } from '../../../../src/drive/router/router.ts';
import { aProject, put, rewrite, stateOf } from '../../../support/drive/drive-project.ts';
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
