import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRunning } from '../support/client/process-tree.ts';
import { ofType, startRunner } from '../support/client/runner.ts';
import { inTaskFolder } from '../support/client/task-loop.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';

let commands = 0;
/** Of the task, in its second iteration: it shows something where a file is, and else runs on. */
const endless = (): string => `sleep 600.${process.pid}${commands++}`;
const showing = (command: string): string =>
  `---\nmax_iterations: 3\ncommands: [{ name: look, run: "cat go || ${command}", timeout: 300 }]\n---\nWork.\n`;

const WORDS = [
  ['cancel', 130, 'cancelled'],
  ['stop', 3, 'stopped'],
] as const;

for (const [word, code, status] of someOf(WORDS, 2)) {
  test(`${word}, while the task's commands run in a runner, ends them and starts no further agent`, async () => {
    const command = endless();
    const options = { ralph: showing(command), files: { go: 'went\n' }, init: false };
    await inTaskFolder({ ...options, standIn: true }, steps([bash('rm go'), text('one')]), async (loop) => {
      const running = startRunner(loop.project, { args: [loop.folder] });
      await until('control: the command runs', () => isRunning(command));
      assert.equal(loop.project.main([word, loop.folder]).code, 0);
      const run = await running.done;
      assert.equal(run.code, code, run.stdout + run.stderr);
      assert.equal(isRunning(command), false);
      assert.equal(ofType(run.events, 'agent.ended').length, 1);
      assert.equal(loop.status().status, status);
    });
  });
}

test("pause, while the task's commands run in a runner, ends them, and resume runs them again", async () => {
  const command = endless();
  const options = { ralph: showing(command), files: { go: 'went\n' }, init: false };
  const script = steps([bash('rm go'), text('one'), text('two'), text('three')]);
  await inTaskFolder({ ...options, standIn: true }, script, async (loop) => {
    const running = startRunner(loop.project, { args: [loop.folder] });
    await until('control: the command runs', () => isRunning(command));
    assert.equal(loop.project.main(['pause', '--loop', 'my-task']).code, 0);
    await until('the command is ended', () => !isRunning(command));
    await until('it rests', () =>
      ofType(running.events(), 'agent.notice').some(({ message }) => /The loop is paused/.test(message)),
    );
    loop.workspace.write('go', 'went again\n');
    assert.equal(loop.project.main(['resume', '--loop', 'my-task']).code, 0);
    const run = await running.done;
    assert.equal(run.code, 2, run.stdout + run.stderr);
    assert.deepEqual(
      ofType(run.events, 'agent.ended').map(({ iteration }) => iteration),
      [1, 2, 3],
    );
  });
});
