import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLoopProject } from '../support/client/loop-project.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';

const inBackground = (command: string) => bash(command, { run_in_background: true });

test('the hook waits for a background shell, and its notification does not count as an iteration', async () => {
  await inLoopProject(
    { frontmatter: 'max_iterations: 4' },
    steps([
      inBackground('sleep 2; echo built'),
      text('The build runs.'),
      (request) => {
        assert.match(request.sinceText, /<task-notification>/);
        return text('The build is over.');
      },
      text('Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS'),
    ]),
    async (project) => {
      const run = await project.run();
      project.model.check();
      assert.equal(run.code, 0, run.said);
      assert.deepEqual(
        project.events('turn.released').map(({ why, iteration }) => [why, iteration]),
        [['background', 0]],
      );
      assert.deepEqual(
        project.iterations().map(({ iteration, toolCalls }) => [iteration, toolCalls]),
        [
          [1, 1],
          [2, 0],
        ],
      );
      assert.equal(project.events('background.waited-out').length, 0);
    },
  );
});

test('the hook waits for an endless background shell as long as allowed, and only once', async () => {
  await inLoopProject(
    { frontmatter: 'background_wait: 4s\nmax_iterations: 3' },
    steps([inBackground('tail -f /dev/null'), text('It serves.'), text('Second look.'), text('Third look.')]),
    async (project) => {
      const run = await project.run();
      project.model.check();
      assert.equal(run.code, 2, run.said);
      assert.equal(run.timedOut, false, 'the shell that runs on does not hold the launcher');
      const at = project.model.mainRequests().map((request) => request.at);
      const gap = (index: number): number => (at[index] ?? 0) - (at[index - 1] ?? 0);
      assert.ok(gap(2) >= 4_000, `decided after ${gap(2)} ms, as if nothing ran`);
      // As far as one turn differs from the other on this machine.
      assert.ok(gap(3) < Math.max(4_000, gap(2) - 2_000), `and without waiting again: ${gap(2)}, ${gap(3)} ms`);
      assert.equal(project.events('background.waited-out').length, 1);
      assert.equal(project.iterations().length, 3);
    },
  );
});
