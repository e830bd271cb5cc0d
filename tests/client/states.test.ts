import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { test } from 'node:test';
import { runClient } from '../support/client/client.ts';
import { CLIENT } from '../support/client/client-facts.ts';
import { inLoopProject, promptFile } from '../support/client/loop-project.ts';
import type { Workspace } from '../support/client/workspace.ts';
import { type Script, type Step, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest, someOf } from '../support/short-form.ts';

const stateFile = '.claude/context/runtime/ralph-state.json';

/** Something happens on disk, by another hand, while the model thinks about its second iteration. */
const meanwhile =
  (happens: (workspace: Workspace) => void) =>
  (workspace: Workspace): Script => {
    const second: Step = () => {
      happens(workspace);
      return text('two');
    };
    return steps([text('one'), second]);
  };

test('a corrupt state is moved aside whole, the turn ends, and the user is informed', async () => {
  const broken = '{ "iteration": 1, "startedAt": ';
  await inLoopProject(
    { standIn: true, frontmatter: 'max_iterations: 9' },
    meanwhile((workspace) => workspace.write(stateFile, broken)),
    async (project) => {
      const run = await project.run();
      project.model.check();
      assert.equal(run.code, 1);
      const [moved] = project.archive();
      assert.match(moved?.name ?? '', /-corrupt\.json$/);
      assert.equal(moved?.text, broken);
      assert.equal(project.state(), null);
      assert.match(
        run.said,
        /The state file is corrupt .* its counters are in the journal\. Resume: ralph-loop resume\./,
      );
      assert.ok(run.said.includes(moved?.name ?? 'no name'));
      const again = project.main(['start', '--json']);
      assert.equal(again.code, 0, `the project is not stuck: ${again.stderr}`);
    },
  );
});

longTest('a state of a newer schema stays unchanged, the turn ends, and the user learns to update', async () => {
  const newer = '{"schemaVersion":999,"loopId":"from the future"}';
  await inLoopProject(
    { standIn: true, frontmatter: 'max_iterations: 9' },
    meanwhile((workspace) => workspace.write(stateFile, newer)),
    async (project) => {
      const run = await project.run();
      project.model.check();
      assert.equal(run.code, 1);
      assert.equal(project.workspace.read(stateFile), newer);
      assert.match(run.said, /written by a newer ralph-loop \(schema 999\) and was left unchanged\. Update this one/);
      const start = project.main(['start', '--fresh']);
      assert.equal(start.code, 1);
      assert.match(start.stderr, /newer ralph-loop/);
      assert.equal(project.workspace.read(stateFile), newer);
    },
  );
});

for (const name of someOf(['missing', 'empty'], 2)) {
  test(`a task file that becomes ${name} during the loop ends it as an error`, async () => {
    await inLoopProject(
      { standIn: true, frontmatter: 'max_iterations: 9' },
      meanwhile((workspace) => {
        if (name === 'missing') rmSync(workspace.path(promptFile));
        else workspace.write(promptFile, '---\nmax_iterations: 9\n---\n\n');
      }),
      async (project) => {
        const run = await project.run();
        project.model.check();
        assert.equal(run.code, 1);
        assert.equal(project.ended().as, 'error');
        assert.match(project.archive()[0]?.name ?? '', /-error\.json$/);
        assert.match(
          run.said,
          /The loop has ended: the task file .*PROMPT\.md is missing, empty or not a regular file/,
        );
      },
    );
  });
}

const FINISHED = [
  [23, 2],
  [24, 1],
] as const;

for (const [finished, turns] of someOf(FINISHED, 2)) {
  test(`a four-key state with ${finished} of 25 iterations continues and ends after ${turns} more`, async () => {
    const fourKeys = {
      iteration: finished,
      startedAt: '2026-01-02T03:04:05.000Z',
      lastRunAt: '2026-01-02T04:05:06.000Z',
      lastFindingsCount: 'unknown',
    };
    await inLoopProject(
      { standIn: !IS_LONG },
      steps(Array.from({ length: turns }, (_, index) => text(`turn ${index}`))),
      async (project) => {
        const { workspace, model } = project;
        workspace.write(stateFile, fourKeys);
        const run = await runClient({ workspace, model, prompt: 'go on', env: { RALPH_ACTIVE: '1' } });
        model.check();
        const message = /Stopped after 25 iterations, the limit/;
        assert.equal(message.test(run.stdout), CLIENT.printsStopMessages);
        assert.match(project.ended().message, message);
        assert.equal(project.ended().as, 'max-iterations');
        const archived = project.archive()[0]?.state;
        assert.equal(archived?.['iteration'], 25);
        assert.equal(archived?.['startedAt'], fourKeys.startedAt);
      },
    );
  });
}
