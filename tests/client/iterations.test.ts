import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLoopProject } from './support/loop-project.ts';
import { type Script, text } from './support/scripted-model.ts';

/** Another text each time, and no tool call: what the client's own cap on blocks counts. */
const talker: Script = { main: ({ index }) => text(`Thought number ${index + 1} about the work, unlike the others.`) };

test('twenty-five iterations without a tool call are twenty-five turns and twenty-four re-injections', async () => {
  await inLoopProject({ frontmatter: 'max_iterations: 25' }, talker, async (project) => {
    const run = await project.run();
    const requests = project.model.mainRequests();
    assert.equal(requests.length, 25);
    const sent = requests.map(({ sinceText }) => /\[ralph\] Iteration (\d+) of 25\./.exec(sinceText)?.[1]);
    assert.deepEqual(
      sent,
      requests.map((_, index) => String(index + 1)),
    );
    assert.equal(project.iterations().length, 25);
    assert.equal(project.ended().as, 'max-iterations');
    assert.equal(run.code, 2);
    assert.match(run.said, /stopped after 25 iterations, the limit \(max-iterations\)/);
  });
});
