import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLoopProject } from '../support/client/loop-project.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';

const inBackground = (command: string) => bash(command, { run_in_background: true });

test('the hook waits for a background shell, and its notification does not count as an iteration', async () => {
  await inLoopProject(
    { frontmatter: 'max_iterations: 4' },
    steps([
      // The shell ends once the hook, which was told that it runs, has begun.
      inBackground('until pgrep -f "^[^ ]*node [^ ]+ $PWD/[^ ]*stop-hook"; do sleep 0.1; done; echo built'),
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
      const waited = (at[2] ?? 0) - (at[1] ?? 0);
      assert.ok(waited >= 4_000, `decided after ${waited} ms, as if nothing ran`);
      assert.equal(project.events('background.waited-out').length, 1, 'and without waiting again');
      assert.equal(project.iterations().length, 3);
    },
  );
});
