import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLoopProject } from '../support/client/loop-project.ts';
import { ofType, runRunner } from '../support/client/runner.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';

const done = text('All done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');

longTest('three iterations each begin with a fresh context, and the last one completes verified', async () => {
  const frontmatter = 'max_iterations: 5\nvalidation: ["test -f made.txt"]';
  const model = steps([
    bash('echo one-of-the-first > first.txt'),
    text('The FIRST iteration did its work.'),
    text('SECOND iteration.'),
    bash('touch made.txt'),
    done,
  ]);
  await inLoopProject({ standIn: true, frontmatter, init: false }, model, async (project) => {
    const run = await runRunner(project);
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    const requests = project.model.mainRequests();
    assert.equal(new Set(requests.map(({ sessionId }) => sessionId)).size, 3, 'a session an iteration');
    const begins = [requests[0], requests[2], requests[3]];
    begins.forEach((request, index) => {
      assert.match(request?.sinceText ?? '', new RegExp(`Iteration ${index + 1} of 5`));
      assert.equal(request?.body.messages.filter(({ role }) => role === 'assistant').length, 0);
      assert.doesNotMatch(JSON.stringify(request?.body), /FIRST iteration|SECOND iteration|one-of-the-first/);
    });
    assert.deepEqual(
      { as: project.ended().as, verified: project.ended().verified },
      { as: 'complete', verified: true },
    );
    assert.deepEqual(
      project.iterations().map(({ iteration, toolCalls, claimed }) => [iteration, toolCalls, claimed]),
      [
        [1, 1, false],
        [2, 0, false],
        [3, 1, true],
      ],
    );
    assert.deepEqual(
      ofType(run.events, 'iteration.started').map(({ begins }) => begins),
      [1, 2, 3],
    );
    assert.equal(project.state(), null);
  });
});

test('a guardrail applies in the runner under bypassPermissions, and the denial is counted', async () => {
  const frontmatter = [
    'max_iterations: 5',
    'guardrails:',
    '  block_commands: ["git\\\\s+push"]',
    '  protected_files: ["*.lock"]',
  ].join('\n');
  const model = steps([
    bash('git push origin main; touch pushed.txt'),
    bash('echo x > yarn.lock'),
    bash('touch fine.txt'),
    done,
  ]);
  await inLoopProject({ frontmatter, init: false }, model, async (project) => {
    const run = await runRunner(project);
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.equal(project.workspace.has('pushed.txt'), false);
    assert.equal(project.workspace.has('yarn.lock'), false);
    assert.equal(project.workspace.has('fine.txt'), true);
    const [, second] = project.model.mainRequests();
    assert.match(second?.sinceText ?? '', /blocked by guardrail/);
    assert.deepEqual(
      project.iterations().map(({ toolCalls, deniedCalls }) => [toolCalls, deniedCalls]),
      [[3, 2]],
    );
    assert.deepEqual(
      ofType(run.events, 'tool.ended').map(({ outcome }) => outcome),
      ['denied', 'denied', 'ok'],
    );
  });
});
