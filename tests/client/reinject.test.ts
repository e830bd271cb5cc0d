import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runClient } from '../support/client/client.ts';
import { CLIENT } from '../support/client/client-facts.ts';
import { inLoopProject } from '../support/client/loop-project.ts';
import { createWorkspace } from '../support/client/workspace.ts';
import { startScriptedModel, steps, text } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';

/** What the client puts in the place of a context over 10,000 characters. */
const preview = /persisted-output|saved to/i;
const count = (text: string, part: string): number => text.split(part).length - 1;

/** A task of about so many characters, known by its first and its last line. */
const taskOf = (characters: number): string => {
  const lines = ['# Mission', '', 'FIRST-LINE of the task.'];
  for (let part = 1; lines.join('\n').length < characters - 120; part++)
    lines.push('', `## Part ${part}`, '', `${`Words of part ${part}. `.repeat(12)}`);
  return [...lines, '', 'LAST-LINE of the task.', ''].join('\n');
};

/** What the model is sent with the second iteration. */
const secondPrompt = async (body: string, frontmatter = 'max_iterations: 2', standIn = false): Promise<string> => {
  let sent = '';
  await inLoopProject({ frontmatter, body, standIn }, steps([text('one'), text('two')]), async (project) => {
    const run = await project.run();
    project.model.check();
    assert.equal(run.code, 2, run.said);
    const [first, second] = project.model.mainRequests();
    assert.equal(count(first?.sinceText ?? '', 'LAST-LINE'), 1, 'the first prompt is whole');
    sent = second?.sinceText ?? '';
  });
  assert.match(sent, /\[ralph\] Iteration 2 of 2\./);
  assert.match(sent, /How to end your message/);
  return sent;
};

longTest('a task of 3 KB is sent back whole in the reason, as often as the client passes that on', async () => {
  const sent = await secondPrompt(taskOf(3_000));
  assert.deepEqual(
    [count(sent, 'FIRST-LINE'), count(sent, 'LAST-LINE')],
    [CLIENT.reasonsPerBlock, CLIENT.reasonsPerBlock],
  );
  assert.doesNotMatch(sent, preview);
});

test('a task of 8 KB is sent back whole and once, as context with a short reason', async () => {
  const sent = await secondPrompt(taskOf(8_000));
  assert.deepEqual([count(sent, 'FIRST-LINE'), count(sent, 'LAST-LINE')], [1, 1]);
  assert.equal(count(sent, 'Continue: the task is in the context'), CLIENT.reasonsPerBlock);
  assert.doesNotMatch(sent, preview);
});

longTest('a task of 60 KB is sent back as its path and its headings, for the agent to read', async () => {
  const body = taskOf(60_000);
  const sent = await secondPrompt(body, undefined, true);
  assert.equal(count(sent, 'FIRST-LINE'), 0);
  assert.match(sent, /Read \.claude\/ralph\/PROMPT\.md now, in full \(\d+ characters\)/);
  assert.match(sent, /^## Part 1$/m);
  assert.match(sent, /^## Part 39$/m);
  assert.ok(sent.length < 8_000, `${sent.length} characters for a task of ${body.length}`);
  assert.doesNotMatch(sent, preview);
});

longTest('a loop configures how its task is sent back: reinject context sends even a short one once', async () => {
  const sent = await secondPrompt(taskOf(3_000), 'reinject: context\nmax_iterations: 2', true);
  assert.equal(count(sent, 'LAST-LINE'), 1);
});

test('control: the client replaces a longer context by a preview and a file', async () => {
  const workspace = createWorkspace();
  const model = await startScriptedModel(steps([text('one'), text('two')]));
  try {
    const context = `${'x'.repeat(12_000)} LAST-LINE`;
    workspace.write('answer.json', {
      decision: 'block',
      reason: 'go on',
      hookSpecificOutput: { hookEventName: 'Stop', additionalContext: context },
    });
    const command = '[ -e asked ] || { touch asked; cat answer.json; }';
    await runClient({
      workspace,
      model,
      prompt: 'begin',
      settings: { hooks: { Stop: [{ hooks: [{ type: 'command', command }] }] } },
    });
    model.check();
    const sent = model.mainRequests()[1]?.sinceText ?? '';
    assert.equal(count(sent, 'LAST-LINE'), 0);
    assert.match(sent, preview);
  } finally {
    await model.close();
    workspace.cleanup();
  }
});
