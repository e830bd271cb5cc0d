import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLoopProject, type LoopProject, promptFile, taskText } from '../support/client/loop-project.ts';
import type { JsonObject } from '../support/client/workspace.ts';
import { steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const idle = (count: number) => text(`Nothing to do, said ${count} times.\n\n<!-- ralph:state idle -->`);
const done = text('Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');
const waiting = (project: LoopProject): JsonObject | undefined => {
  const state = project.state();
  return state?.['status'] === 'waiting' ? (state['waiting'] as JsonObject) : undefined;
};
const time = (entry: JsonObject | undefined): number => Date.parse(String(entry?.['at']));

longTest('three idle windows grow by the backoff, and idle iterations are counted apart', async () => {
  const frontmatter = 'idle: {delay: 400ms, backoff: 2, max_delay: 10s, max: 1h}\nmax_iterations: 2';
  await inLoopProject({ standIn: true, frontmatter }, steps([idle(1), idle(2), idle(3), done]), async (project) => {
    const run = await project.run();
    project.model.check();
    assert.equal(run.code, 0, run.said);
    const said = project.events('iteration.idle');
    const over = project.events('idle.ended');
    assert.deepEqual(
      said.map(({ consecutiveIdle, delayMs }) => [consecutiveIdle, delayMs]),
      [
        [1, 400],
        [2, 800],
        [3, 1600],
      ],
    );
    for (const [index, delay] of [400, 800, 1600].entries()) {
      const waited = time(over[index]) - time(said[index]);
      assert.ok(waited >= delay, `window ${index + 1} lasted ${waited} ms`);
    }
    assert.deepEqual(
      over.map(({ why }) => why),
      Array(3).fill('the wait is over'),
    );
    assert.deepEqual(
      project.iterations().map(({ iteration, idleIterations, kind }) => [iteration, idleIterations, kind]),
      [
        [0, 1, 'idle'],
        [0, 2, 'idle'],
        [0, 3, 'idle'],
        [1, 3, 'working'],
      ],
    );
  });
});

longTest('without an idle block the marker is only a state and no wait', async () => {
  await inLoopProject(
    { standIn: true, frontmatter: 'max_iterations: 3' },
    steps([idle(1), idle(2), done]),
    async (project) => {
      const run = await project.run();
      project.model.check();
      assert.equal(run.code, 0);
      assert.deepEqual(
        project.iterations().map(({ kind, states }) => [kind, states]),
        [
          ['working', ['idle']],
          ['working', ['idle']],
          ['working', []],
        ],
      );
      assert.equal(project.events('idle.ended').length, 0);
    },
  );
});

test('a user at another terminal wakes a loop from a long wait', async () => {
  const frontmatter = 'idle: {delay: 30m, max_delay: 1h, max: 6h}\nmax_iterations: 3';
  await inLoopProject({ standIn: !IS_LONG, frontmatter }, steps([idle(1), done]), async (project) => {
    const running = project.start();
    await until('the loop waits', () => waiting(project));
    assert.equal(project.model.mainRequests().length, 1);
    const wake = project.main(['wake']);
    assert.equal(wake.code, 0, wake.stderr);
    const run = await running.done;
    project.model.check();
    assert.equal(run.code, 0, run.said);
    assert.deepEqual(
      project.events('idle.ended').map(({ why }) => why),
      ['woken'],
    );
  });
});

test('a changed task file ends a wait, and the change is in the next prompt', async () => {
  const frontmatter = 'idle: {delay: 30m, max_delay: 1h, max: 6h}\nmax_iterations: 3';
  await inLoopProject({ standIn: true, frontmatter }, steps([idle(1), done]), async (project) => {
    const running = project.start();
    await until('the loop waits', () => waiting(project));
    project.workspace.write(promptFile, taskText(frontmatter, '# Mission\n\nThe answer is forty-two.\n'));
    const run = await running.done;
    project.model.check();
    assert.equal(run.code, 0, run.said);
    assert.match(project.model.mainRequests()[1]?.sinceText ?? '', /The answer is forty-two\./);
    assert.deepEqual(
      project.events('idle.ended').map(({ why }) => why),
      ['something changed'],
    );
  });
});

longTest('a loop that wakes on change calls no model until a watched file changes', async () => {
  const frontmatter = 'idle: {delay: 300ms, backoff: 1, max: 1h, wake: change, watch: ["inbox/**"]}\nmax_iterations: 3';
  const files = { 'inbox/old.txt': 'old\n', 'elsewhere.txt': 'one\n' };
  await inLoopProject({ standIn: true, frontmatter, files }, steps([idle(1), done]), async (project) => {
    const running = project.start();
    const windows = new Set<unknown>();
    const looked = (count: number) => () => {
      const now = waiting(project);
      if (now !== undefined) windows.add(now['until']);
      return windows.size >= count;
    };
    await until('it has looked three times', looked(4));
    project.workspace.write('elsewhere.txt', 'two, and nobody watches it\n');
    const before = windows.size;
    await until('it has looked again', looked(before + 2));
    assert.equal(project.model.requests.filter(({ kind }) => kind === 'main').length, 1);
    project.workspace.write('inbox/new.txt', 'news\n');
    const run = await running.done;
    project.model.check();
    assert.equal(run.code, 0, run.said);
    assert.equal(project.iterations().filter(({ kind }) => kind === 'idle').length, 1);
  });
});

test('a loop idle for its maximum ends there, with its last wait shortened and no further model call', async () => {
  const frontmatter = 'idle: {delay: 800ms, backoff: 2, max_delay: 2s, max: 2s}\nmax_iterations: 3';
  await inLoopProject({ standIn: true, frontmatter }, { main: ({ index }) => idle(index + 1) }, async (project) => {
    const run = await project.run();
    assert.equal(run.code, 2);
    assert.equal(project.ended().as, 'idle-limit');
    assert.match(run.said, /Stopped after being idle for .* \(idle\.max is 2s\)/);
    const delays = project.events('iteration.idle').map(({ delayMs }) => Number(delayMs));
    assert.ok((delays.at(-1) ?? 0) < 1600, `the last wait is cut: ${delays.join(', ')}`);
    assert.equal(project.model.mainRequests().length, delays.length);
    assert.equal(project.events('loop.ended').at(-1)?.['iteration'], 0);
  });
});

longTest('only changes in what the commands of a task folder show wake an idle loop', async () => {
  const task = [
    '---',
    'commands: [{name: inbox, run: cat inbox.txt}]',
    'idle: {delay: 300ms, backoff: 1, max: 1h, wake: change}',
    'max_iterations: 3',
    'completion_promise: DONE',
    'completion_gate: optional',
    '---',
    'Read your post: {{ commands.inbox }}',
  ];
  const files = { 'tasks/post/RALPH.md': task.join('\n'), 'inbox.txt': 'nothing\n' };
  const end = text('Read it.\n\n<promise>DONE</promise>');
  await inLoopProject({ standIn: true, files, loop: 'post' }, steps([idle(1), end]), async (project) => {
    const running = project.start({ args: ['--task', 'tasks/post'] });
    const windows = new Set<unknown>();
    await until('it has looked three times', () => {
      const now = waiting(project);
      if (now !== undefined) windows.add(now['until']);
      return windows.size >= 4;
    });
    assert.equal(project.model.mainRequests().length, 1);
    project.workspace.write('inbox.txt', 'news of the day\n');
    const run = await running.done;
    project.model.check();
    assert.equal(run.code, 0, run.said);
    assert.match(project.model.mainRequests()[1]?.sinceText ?? '', /Read your post: news of the day/);
  });
});
