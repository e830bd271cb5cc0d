import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launcherFile } from '../support/client/loop-project.ts';
import { bash, steps, text, tool } from '../support/model/scripted-model.ts';
import { complete, inTerminal } from '../support/terminal/terminal-loop.ts';
import { until } from '../support/until.ts';

const choice = {
  question: 'Which one?',
  header: 'Pick',
  multiSelect: false,
  options: ['Alpha', 'Beta'].map((label) => ({ label, description: label })),
};

test('status says that a session waits for its user while a permission or a choice is asked for', async () => {
  const script = steps([
    bash('touch asked && python3 -c "print(1)"'),
    text('touched'),
    tool('AskUserQuestion', { questions: [choice] }),
    text(`chosen\n\n${complete}`),
  ]);
  await inTerminal({}, script, async (loop) => {
    const terminal = await loop.open(loop.workspace.path(launcherFile), ['--permission-mode', 'default']);
    for (const question of ['Do you want to proceed?', 'Which one?']) {
      await terminal.waitFor(question);
      await until(
        'the status',
        () => /is waiting for your answer in its session/.test(loop.main('status')) || undefined,
      );
      assert.match(loop.main('explain'), /Answer the question in its session/);
      await terminal.key('Enter');
    }
    await terminal.waitFor(() => loop.model.mainRequests().length === 4);
    const ended = await loop.waitForEnd();
    assert.equal(ended.ended?.as, 'complete');
  });
});
