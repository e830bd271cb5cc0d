import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { ofType, runRunner } from '../support/client/runner.ts';
import { bash, steps, text, tool } from '../support/model/scripted-model.ts';

const RULES = 'max_iterations: 5\nguardrails:\n  block_commands: ["git\\\\s+push"]';
const FILES = { 'plan.txt': 'secret-plan' };

/** Runs a loop whose agent reads plan.txt before it does anything else. */
async function runReading(
  options: object,
  check: (project: LoopProject, outcomes: unknown) => void,
  before: (project: LoopProject) => void = () => undefined,
): Promise<void> {
  let of: LoopProject | null = null;
  const script = steps([
    () => {
      assert.ok(of !== null);
      before(of);
      return tool('Read', { file_path: of.workspace.path('plan.txt') });
    },
    bash('touch made.txt'),
    text('All done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS'),
  ]);
  await inLoopProject({ files: FILES, init: false, ...options }, script, async (project) => {
    of = project;
    const run = await runRunner(project);
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    check(
      project,
      ofType(run.events, 'tool.ended').map((event) => [event.tool, event.outcome]),
    );
  });
}

const asked = (project: LoopProject): unknown => project.events('tool.asked').map((event) => event['tool']);
const counted = (project: LoopProject): unknown =>
  project.iterations().map(({ toolCalls, deniedCalls }) => [toolCalls, deniedCalls]);

test('a runner counts a read that started no guard, and takes it for no missing guard', () =>
  runReading({ frontmatter: RULES }, (project, outcomes) => {
    assert.deepEqual(asked(project), ['Bash']);
    assert.deepEqual(outcomes, [
      ['Read', 'ok'],
      ['Bash', 'ok'],
    ]);
    assert.deepEqual(counted(project), [[2, 0]]);
  }));

for (const [what, before] of Object.entries({
  'a runner': () => undefined,
  // A program of the agent can write what its tools may not.
  'a runner whose agent has forged the mark of free reads': ({ files }: LoopProject) =>
    writeFileSync(files.freeReads, ''),
}))
  test(`a read of a private file is denied in ${what}`, () =>
    runReading(
      { standIn: true, frontmatter: `${RULES}\n  private_files: ["plan.txt"]` },
      (project, outcomes) => {
        assert.deepEqual(outcomes, [
          ['Read', 'denied'],
          ['Bash', 'ok'],
        ]);
        assert.deepEqual(counted(project), [[2, 1]]);
      },
      before,
    ));
