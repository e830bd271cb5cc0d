import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ofType } from '../../support/client/runner.ts';
import { inCodexProject } from '../../support/codex/codex-project.ts';
import { say, shell } from '../../support/codex/responses-model.ts';

const DONE = say('All done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');

test('Codex: a false claim is refused, and the loop ends verified in a fresh context', async () => {
  const frontmatter = 'max_iterations: 5\nvalidation: [{name: made, run: "test -f made.txt"}]';
  await inCodexProject({ frontmatter }, [DONE, shell('touch made.txt'), DONE], async (project) => {
    const run = await project.begin().done;
    assert.equal(run.code, 0, run.stdout + run.stderr);
    const { as, verified } = project.ended();
    assert.deepEqual({ as, verified }, { as: 'complete', verified: true });
    const [, second] = project.model.requests;
    assert.ok(second?.input.includes('rejected'), 'the agent reads why its claim does not count');
    assert.ok(!second?.input.includes('All done.'), 'nothing of the first run');
    assert.match(run.stderr, /Codex runs with its sandbox danger-full-access/);
    // The tokens of each request, and a cost that is not known.
    assert.equal(ofType(run.events, 'run.ended')[0]?.costUsd, null);
    assert.deepEqual(
      project.iterations().map(({ toolCalls }) => toolCalls),
      [0, 1],
    );
  });
});
