import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { loopNames, lostLoop } from '../../../../src/drive/status/loop-report.ts';
import { runnerHold } from '../../../../src/state/lock/owner.ts';
import { aProject, aStop, type Project, start, stateOf } from '../../../support/drive/drive-project.ts';
import { called, startedRouter } from '../../../support/drive/router-project.ts';
import '../../../support/starts-processes.ts';

const again = (project: Project, existing: 'refuse' | 'fresh' | 'resume') =>
  start(project, true, existing, new Date().toISOString());

for (const [how, lose] of [
  ['missing', (path: string) => rmSync(path)],
  ['torn', (path: string) => writeFileSync(path, '{')],
] as const)
  test(`a start refuses where the state of a loop that has worked is ${how}, and a resume keeps its counts`, async (t) => {
    const project = aProject(t);
    start(project, true);
    await aStop(project);
    const { files } = project;
    const { iteration, loopId } = stateOf(project);
    assert.equal(iteration, 1);
    lose(files.state);
    assert.throws(
      () => again(project, 'refuse'),
      (error: Error) =>
        error.message.includes(`${files.state} is missing or unreadable; its loop has done 1 iteration.`),
    );
    assert.deepEqual(loopNames(project.directory, project.env), [null], 'the loop is found');
    again(project, 'resume');
    assert.deepEqual([stateOf(project).loopId, stateOf(project).iteration], [loopId, 1]);
    lose(files.state);
    again(project, 'fresh');
    assert.equal(stateOf(project).iteration, 0);
  });

test('a lost loop without a journal keeps its count, and is a runner’s if one was killed on it', async (t) => {
  const project = aProject(t);
  start(project, true);
  await aStop(project);
  const { files } = project;
  rmSync(files.runtimeDir, { recursive: true });
  const lost = () => {
    const { iteration, mode } = lostLoop(files) ?? {};
    return { iteration, mode };
  };
  assert.deepEqual(lost(), { iteration: 1, mode: 'hook' });
  assert.ok(!existsSync(files.runtimeDir));
  writeFileSync(runnerHold(files), '{}');
  assert.deepEqual(lost(), { iteration: 1, mode: 'runner' });
});

test('a corrupt state that was moved aside frees the next start, and excuses no later loss', async (t) => {
  const project = aProject(t);
  start(project, true);
  await aStop(project);
  writeFileSync(project.files.state, '{');
  await aStop(project);
  again(project, 'refuse');
  assert.equal(stateOf(project).iteration, 0);
  await aStop(project, { last_assistant_message: 'Some more.' });
  rmSync(project.files.state);
  assert.throws(() => again(project, 'refuse'), /is missing or unreadable; its loop has done 1 iteration\./);
});

test('a lost loop of a router is resumed as one, and no corrupt state frees a start in its place', async (t) => {
  const project = aProject(t);
  const { files } = project;
  startedRouter(project);
  await called(project);
  await called(project, { text: 'Half of it.' });
  writeFileSync(files.state, '{');
  assert.match(JSON.stringify(await called(project)), /is corrupt .* was moved to/);
  assert.throws(() => startedRouter(project), /its loop has done 1 iteration\.[\s\S]*router start --fresh/);
  assert.equal(lostLoop(files)?.mode, 'router');
  rmSync(files.events);
  assert.equal(lostLoop(files)?.mode, 'router', 'without a journal');
  rmSync(files.spawn);
  assert.equal(lostLoop(files)?.mode, 'hook', 'control');
});

test('control: a start whose state is missing can be repeated while its loop has done nothing', (t) => {
  const project = aProject(t);
  start(project, true);
  rmSync(project.files.state);
  again(project, 'refuse');
  assert.equal(stateOf(project).iteration, 0);
});
