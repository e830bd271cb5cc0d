import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRunning } from '../support/client/process-tree.ts';
import { taskLoop } from '../support/client/task-loop.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';
import { inTerminal } from '../support/terminal/terminal-loop.ts';
import { until } from '../support/until.ts';

const endless = `sleep 600.${process.pid}`;
const untilGo = 'cat go 2>/dev/null || { touch asked; until [ -e go ]; do sleep 0.05; done; echo late; }';
const withCommand = (run: string, more = '') => ({
  loop: 'my-task',
  files: {
    'my-task/RALPH.md': `---
commands: [{ name: look, run: "${run}", timeout: 300${more} }]
max_iterations: 9
completion_promise: DONE
---
Do the work: {{ commands.look }}
`,
    'my-task/OPEN_QUESTIONS.md': '# P0\n',
    go: 'went\n',
  },
});
const options = withCommand(`cat go || ${endless}`);

test('Esc ends a running command of the task and pauses the loop; resume continues with its counters', async () => {
  const options = withCommand(`cat go || ${endless}`, ', acceptance: true');
  const claim = (said: string) => text(`${said}\n\n<promise>DONE</promise>`);
  const script = steps([
    ...[bash('rm go'), text('one'), text('I am here.'), text('Going on.')],
    ...[bash('rm go'), claim('Done.'), text('I am here, too.'), text('Going on once more.'), claim('Done, again.')],
  ]);
  await inTerminal(options, script, async (loop) => {
    const { workspace, project } = loop;
    const task = taskLoop(project, 'my-task');
    const terminal = await loop.launch('--task', 'my-task');
    await until('control: the command runs', () => project.iterations().length === 1 && isRunning(endless));
    const paused = await loop.interruptHook(terminal);
    assert.equal(paused.paused?.reason, 'interrupted');
    await until('nothing of the command is left', () => !isRunning(endless));
    await until('its folder says so', () => task.status().status === 'paused');
    await terminal.waitFor('ralph: my-task │ paused (interrupted) │ iter 2/9');

    await terminal.submit('are you there?');
    await terminal.waitFor('I am here.', /Paused: the turn was interrupted/);
    await loop.waitForState('the end of the turn', ({ turn }) => turn === 'rest');
    workspace.write('go', 'went again\n');
    loop.main('resume', 'my-task');
    await terminal.submit('go on');

    await loop.waitForState('the gate', ({ status }) => status === 'verifying');
    await until('control: the acceptance command runs', () => isRunning(endless));
    const prompt = task.told()[4] ?? '';
    assert.match(prompt, /Iteration 2 of 9/);
    assert.match(prompt, /^Do the work: went again$/m);
    const again = await loop.interruptHook(terminal);
    assert.deepEqual([again.paused?.reason, again.iteration], ['interrupted', 2]);
    await until('nothing of the acceptance command is left', () => !isRunning(endless));
    await terminal.submit('are you still there?');
    await terminal.waitFor('I am here, too.');
    await loop.waitForState('the end of the turn', ({ turn }) => turn === 'rest');
    workspace.write('go', 'went\n');
    loop.main('resume', 'my-task');
    await terminal.submit('go on once more');
    const ended = await loop.waitForEnd();
    assert.deepEqual([ended.ended?.as, ended.iteration], ['complete', 3]);
    await until('its folder tells the last iteration', () => task.records().length === 3);
    assert.deepEqual(
      task.records().map(({ iteration }) => iteration),
      [1, 2, 3],
    );
  });
});

longTest('Ctrl+C while the first commands of the task run ends them, and no client is started', async () => {
  const { go: _go, ...files } = options.files;
  await inTerminal({ ...options, files }, steps([]), async (loop) => {
    const terminal = await loop.launch('--task', 'my-task');
    await until('control: the command runs', () => isRunning(endless));
    await terminal.key('C-c');
    assert.equal(await terminal.waitForExit(), 130);
    assert.equal(isRunning(endless), false);
    assert.equal(loop.model.requests.length, 0);
    assert.equal(loop.state()?.status, 'paused');
  });
});

test('a message typed while a command of the task runs reaches the agent in its next, counted iteration', async () => {
  const done = text('Done.\n\n<promise>DONE</promise>');
  const script = steps([bash('rm go'), text('one'), bash('echo working'), text('I use the BLUE-DOOR.'), done]);
  await inTerminal(withCommand(untilGo), script, async (loop) => {
    const { workspace, project } = loop;
    const terminal = await loop.launch('--task', 'my-task');
    await until('the command runs', () => workspace.has('asked'));
    await terminal.submit('use the BLUE-DOOR');
    await terminal.waitFor('use the BLUE-DOOR');
    workspace.write('go', 'went again\n');
    const ended = await loop.waitForEnd();
    assert.deepEqual([ended.ended?.as, ended.iteration], ['complete', 3]);
    const told = taskLoop(project, 'my-task').told();
    assert.deepEqual(
      told.map((each) => each.includes('BLUE-DOOR')),
      [false, false, false, true, false],
    );
  });
});
