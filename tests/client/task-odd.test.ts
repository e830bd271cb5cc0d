import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { inLoopProject } from '../support/client/loop-project.ts';
import { inTaskFolder, taskLoop } from '../support/client/task-loop.ts';
import { bash, steps, text, tool } from '../support/model/scripted-model.ts';
import { longTest, someOf } from '../support/short-form.ts';

const ralph = (frontmatter: string, body = 'Do the work.'): string => `---\n${frontmatter}\n---\n${body}\n`;
const promise = (said: string) => text(`${said}\n\n<promise>DONE</promise>`);

/** A program of the agent's, whose text the guard does not read. */
const program = (code: string) => [
  tool('Write', {
    file_path: 'helper.py',
    content: `import os, shutil\nrun = 'my-task/.ralph' + '-runner'\n${code}\n`,
  }),
  bash('python3 helper.py'),
];

test('run state that a program removes, or replaces by a link out of the folder, does not affect the loop', async () => {
  const script = steps([
    ...[...program('shutil.rmtree(run)'), text('one')],
    ...[...program("shutil.rmtree(run)\nos.symlink('../../outside', run)"), text('two')],
    text('three'),
    ...[...program('os.remove(run)'), text('four')],
    promise('Done.'),
  ]);
  const options = {
    standIn: true,
    ralph: ralph('completion_promise: DONE\ncommands: [{ name: look, run: seq 3000 }]', '{{ commands.look }}'),
    files: { 'my-task/OPEN_QUESTIONS.md': '# P0\n' },
  };
  await inTaskFolder(options, script, async (loop) => {
    const outside = join(loop.workspace.root, 'outside');
    mkdirSync(outside);
    const run = await loop.run();
    assert.equal(run.code, 0, run.said);
    assert.deepEqual([loop.project.ended().as, loop.project.ended().verified], ['complete', false]);
    assert.deepEqual(readdirSync(outside), []);
    assert.deepEqual(
      loop.project.iterations().map(({ iteration }) => iteration),
      [1, 2, 3, 4, 5],
    );
    assert.equal(loop.status().status, 'complete', 'it is written again as soon as it can be');
    for (const [turn, prompt] of loop
      .told()
      .filter((each) => /\[ralph\] Iteration/.test(each))
      .entries())
      assert.ok(
        /^3000$/m.test(prompt) || /Read my-task\/\.ralph-runner\/prompt\.md/.test(prompt),
        `prompt ${turn + 1}`,
      );
  });
});

longTest('a task whose RALPH.md is gone ends as an error with advice', async () => {
  const script = steps([bash('rm my-task/RALPH.md'), text('one')]);
  await inTaskFolder({ standIn: true, ralph: ralph('max_iterations: 5') }, script, async (loop) => {
    const run = await loop.run();
    assert.equal(run.code, 1, run.said);
    assert.equal(loop.project.ended().as, 'error');
    assert.match(
      run.said,
      /The loop has ended: the task file my-task\/RALPH\.md is missing, empty or not a regular file\. Restore it/,
    );
    assert.deepEqual([loop.status().status, loop.status().iteration], ['error', 1]);
  });
});

longTest(
  'frontmatter that no longer parses stops nothing: the loop continues under its contract and says so',
  async () => {
    const script = steps([bash(`sed -i '2s/.*/max_iterations: [/' my-task/RALPH.md`), text('one'), text('two')]);
    await inTaskFolder({ standIn: true, ralph: ralph('max_iterations: 2') }, script, async (loop) => {
      const run = await loop.run();
      assert.equal(run.code, 2, run.said);
      assert.equal(loop.records().length, 2);
      assert.match(loop.told()[2] ?? '', /frontmatter of my-task\/RALPH\.md changed during the loop/);
      assert.match(loop.told()[2] ?? '', /^Do the work\.$/m);
    });
  },
);

test('the project’s own folder can be a task folder, and its commands are not part of the loop', async () => {
  const frontmatter =
    'max_iterations: 1\ncommands: [{ name: env, run: "echo active=$RALPH_ACTIVE in $PWD" }, { name: here, run: ./here.sh }]';
  const files = { 'RALPH.md': ralph(frontmatter, '{{ commands.env }}\n{{ commands.here }}') };
  await inLoopProject({ standIn: true, files, loop: 'project' }, steps([text('one')]), async (project) => {
    const { workspace, model } = project;
    workspace.write('here.sh', '#!/bin/sh\necho here\n', 0o755);
    const run = await project.run({ args: ['--path', '.'] });
    model.check();
    assert.equal(run.code, 2, run.said);
    const loop = taskLoop(project, '.');
    assert.ok(loop.told()[0]?.includes(`\nactive=0 in ${workspace.project}\nhere\n`), loop.told()[0]);
    assert.equal(loop.status().taskPath, 'RALPH.md');
    assert.equal(loop.status().name, 'project');
  });
});

/** What users write in place of a preset's placeholders. */
const filledIn = (template: string): string =>
  template
    .replace('Describe the task here.', 'Tidy up.')
    .replace('Migrate FROM to TO', 'Migrate callbacks to promises')
    .replace(': QUESTION', ': which parser is faster?');

test('every folder that scaffold creates runs once it is filled in', async () => {
  const presets = someOf(['default', 'fix-tests', 'migration', 'research-report', 'security-audit'], 3);
  const turns = steps(presets.map((preset) => text(`This is ${preset}.`)));
  await inLoopProject({ standIn: true, git: true }, turns, async (project) => {
    for (const [turn, preset] of presets.entries()) {
      const folder = `a ${preset}`;
      const made = project.main(['scaffold', ...(preset === 'default' ? [] : ['--preset', preset]), folder]);
      assert.equal(made.code, 0, made.stderr);
      project.workspace.write(`${folder}/RALPH.md`, filledIn(project.workspace.read(`${folder}/RALPH.md`)));
      const run = await project.run({ args: ['--task', folder, '--max-iterations', '1'] });
      assert.equal(run.code, 2, run.said);
      const loop = taskLoop(project, folder);
      assert.equal(loop.status().status, 'no-progress-exhaustion');
      assert.ok(loop.told()[turn]?.includes(`Iteration 1 of 1. The task folder is ${folder}/`), loop.told()[turn]);
    }
    project.model.check();
  });
});

longTest('after a run logs exports its state, archive moves it away, and the next run begins a new one', async () => {
  const script = steps([text('one'), text('two')]);
  await inTaskFolder({ standIn: true, ralph: ralph('max_iterations: 1') }, script, async (loop) => {
    const { project, workspace } = loop;
    const ask = (...args: string[]) => {
      const done = project.main(args);
      assert.equal(done.code, 0, `${args}: ${done.stderr}`);
    };
    await loop.run();
    ask('logs', '--path', 'my-task', '--dest', 'exported');
    const parts = ['status.json', 'iterations.jsonl', 'events.jsonl', 'transcripts/001.md'];
    for (const path of parts)
      assert.equal(workspace.read(`exported/${path}`), workspace.read(loop.inside(`.ralph-runner/${path}`)), path);
    ask('archive', 'my-task');
    assert.equal(workspace.has('my-task/.ralph-runner'), false);
    const [archived = ''] = readdirSync(workspace.path('my-task/.ralph-runner-archive'));
    assert.ok(workspace.has(`my-task/.ralph-runner-archive/${archived}/status.json`));
    await loop.run();
    assert.deepEqual([loop.records().length, loop.status().status], [1, 'no-progress-exhaustion']);
  });
});
