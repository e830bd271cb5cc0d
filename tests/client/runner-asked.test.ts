import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runClient } from '../support/client/client.ts';
import { inLoopProject, mainPath } from '../support/client/loop-project.ts';
import { runRunner } from '../support/client/runner.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG } from '../support/short-form.ts';

const RALPH = `${process.execPath} ${mainPath}`;
const TASK = [
  '---',
  'max_iterations: 4',
  'completion_promise: DONE',
  'completion_gate: disabled',
  '---',
  'Make made.txt.',
];

test('an agent writes a task and asks for a loop; the user agrees, and a fresh agent works on it', async () => {
  const model = steps([
    bash(
      [
        `mkdir -p jobs/make && printf '%s\\n' ${TASK.map((line) => `'${line}'`).join(' ')} > jobs/make/RALPH.md`,
        `${RALPH} run jobs/make > refused.txt 2>&1`,
        `${RALPH} start --mode runner --task jobs/make --json > asked.json`,
        `${RALPH} status --loop make --json > status.json`,
        `${RALPH} run --consent make >> refused.txt 2>&1; true`,
      ].join('; '),
    ),
    text('I have asked for a loop. Please agree: ralph-loop run --consent make'),
    bash('touch made.txt'),
    text('Made.\n\n<promise>DONE</promise>'),
  ]);
  await inLoopProject({ standIn: !IS_LONG, init: false, loop: 'make' }, model, async (project) => {
    const { workspace } = project;
    const asking = await runClient({ workspace, model: project.model, prompt: 'make a loop of it' });
    assert.equal(asking.code, 0, asking.stderr);
    assert.deepEqual(
      ['status', 'mode', 'consent'].map((key) => workspace.json('asked.json')[key]),
      ['awaiting-consent', 'runner', 'ralph-loop run --consent make'],
    );
    assert.equal(workspace.json('status.json')['status'], 'awaiting-consent');
    assert.equal(workspace.read('refused.txt').match(/is for the user at a terminal/g)?.length, 2);
    assert.equal(workspace.has('made.txt'), false, 'nothing has run yet');
    const run = await runRunner(project, { args: ['--consent', 'make'], inPerson: true });
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.match(
      run.stdout,
      /An agent has requested this loop:[\s\S]*jobs\/make\/RALPH\.md[\s\S]*max_iterations +4\r\n/,
    );
    assert.match(run.stdout, /permission_mode +bypassPermissions/);
    assert.equal(workspace.has('made.txt'), true);
    assert.equal(project.ended().as, 'complete');
    const [asked, , worked] = project.model.mainRequests();
    assert.notEqual(asked?.sessionId, worked?.sessionId, 'another session works on it');
  });
});
