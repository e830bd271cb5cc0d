import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runClient } from '../support/client/client.ts';
import { honest, inPlanProject, PLAN, type PlanProject, PROGRESS, subject } from '../support/client/plan-project.ts';
import { routerCommand, routerHost } from '../support/client/router-host.ts';
import { runRunner } from '../support/client/runner.ts';
import { bash, type Script, text, together, tool } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';

/** Its check is green from the start. */
const GREEN = `---
validation: ["true"]
---
- [ ] **Task 1: Make file 1**
  - Scope: \`work/1\`, \`made.txt\`
  - Acceptance: it is there
- [ ] **Task 2: Make file 2**
  - Scope: \`work/2\`, \`made.txt\`
  - Acceptance: it is there
`;

/** Whose only call is denied, and which then says what an agent says that did its work. */
const lazy: Script = {
  main: ({ sinceText }) =>
    sinceText.includes('Current task:')
      ? together(tool('Write', { file_path: 'elsewhere.txt', content: 'x' }))
      : text('I could not find the file.\n\nSummary: all done.\nBlockers: none'),
};

const diligent: Script = {
  main: ({ sinceText }) => {
    const task = /Current task: (Task \w+),/.exec(sinceText)?.[1];
    return task === undefined ? text('Summary: made it.\nBlockers: None.') : honest(task);
  },
};

const BOTH = ['Task 1', 'Task 2'].map(subject);

function assertNothingDone({ project, commits }: PlanProject): void {
  const ended = project.ended();
  assert.deepEqual([ended.as, ended.verified], ['blocked', false]);
  assert.deepEqual(commits(), []);
  assert.match(project.workspace.read(PLAN), /^- \[ \] \(blocked\) \*\*Task 1/m);
  assert.match(project.workspace.read(PROGRESS), /Status: blocked[\s\S]*no file in the scope of Task 1 changed/);
}

test('a session whose agent only has calls denied does no task of a plan, and one that works does', async () => {
  const args = ['--task', PLAN, '--plan', '--require-verified'];
  await inPlanProject(
    GREEN,
    lazy,
    async (plan) => {
      const run = await plan.project.run({ args });
      assert.equal(run.code, 3, run.said);
      assertNothingDone(plan);
      const prompts = plan.project.model.mainRequests().map(({ sinceText }) => sinceText);
      assert.match(prompts.join('\n'), /did not pass[\s\S]*work: no file in the scope of Task 1 changed/);
    },
    { init: true, standIn: !IS_LONG },
  );
  // In the short form, plan.test.ts has such a session.
  if (!IS_LONG) return;
  await inPlanProject(
    GREEN,
    diligent,
    async ({ project, commits }) => {
      const run = await project.run({ args });
      assert.equal(run.code, 0, run.said);
      assert.deepEqual(commits(), BOTH);
      assert.equal(project.ended().verified, true);
    },
    { init: true, standIn: true },
  );
});

longTest('a runner whose agent only has calls denied does no task of a plan, and one that works does', async () => {
  const args = [PLAN, '--plan', '--require-verified'];
  await inPlanProject(GREEN, lazy, async (plan) => {
    const run = await runRunner(plan.project, { args });
    assert.equal(run.code, 3, run.stdout + run.stderr);
    assertNothingDone(plan);
  });
  await inPlanProject(
    GREEN,
    diligent,
    async ({ project, commits }) => {
      const run = await runRunner(project, { args });
      assert.equal(run.code, 0, run.stdout + run.stderr);
      assert.deepEqual(commits(), BOTH);
    },
    { standIn: true },
  );
});

longTest('subagents of a router that do nothing do no task of a plan', async () => {
  const answers: Record<string, unknown>[] = [];
  let host = routerHost(lazy.main, { first: bash(`${routerCommand} start --task ${PLAN} --plan`), answers });
  await inPlanProject(
    GREEN,
    { subagent: lazy.main, main: (request) => host.main(request) },
    async (plan) => {
      const { project } = plan;
      const { workspace, model } = project;
      await runClient({ workspace, model, prompt: 'Run ralph on PLAN.md' });
      assert.equal(project.inPerson(['start', '--consent']).code, 0);
      host = routerHost(lazy.main, { first: bash(`${routerCommand} next`), answers });
      const run = await runClient({ workspace, model, prompt: 'Go on' });
      assert.equal(run.result?.['result'], 'The loop is over: blocked.', run.stderr);
      assert.equal(answers.at(-1)?.['exitCode'], 3);
      assertNothingDone(plan);
    },
    { init: true },
  );
});
