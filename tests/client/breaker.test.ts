import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLoopProject, type LauncherRun, type LoopProject } from '../support/client/loop-project.ts';
import { bash, type Script, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';

const guardrails = '.claude/ralph/guardrails.md';

/** What every trip leaves: status, exit code, a message that says why, and a sign for those who come after. */
const assertTripped = (project: LoopProject, run: LauncherRun, signal: string, iterations: number, why: RegExp) => {
  assert.equal(run.code, 2, run.said);
  const { as, message, text } = project.ended();
  assert.equal(as, 'circuit-open');
  assert.match(message, new RegExp(`circuit breaker \\(${signal}\\): `));
  assert.match(message, why);
  assert.ok(text !== undefined && run.said.includes(text), run.said);
  assert.equal(project.iterations().length, iterations);
  const sign = new RegExp(`^### Sign: Circuit breaker: ${signal}$`, 'gm');
  assert.equal(project.workspace.read(guardrails).match(sign)?.length, 1);
};

test('four equal findings counts trip the breaker, and start --resume continues with it closed', async () => {
  const counts = [3, 2, 2, 2, 2, 2, 2, 1];
  const script: Script = {
    main: ({ index }) =>
      text(
        index < counts.length
          ? `Look number ${index}.\n\nRALPH_ITERATION_COMPLETE: ${counts[index]} findings remain`
          : 'Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS',
      ),
  };
  await inLoopProject({ standIn: true, frontmatter: 'max_iterations: 20' }, script, async (project) => {
    const run = await project.run();
    assertTripped(project, run, 'findings', 5, /2 findings remained for 4 iterations/);
    const resumed = await project.run({ args: ['--resume'] });
    assert.equal(resumed.code, 0, resumed.said);
    assert.deepEqual(
      project.iterations().map(({ iteration }) => iteration),
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
      'counters are kept',
    );
    assert.match(project.model.mainRequests()[5]?.sinceText ?? '', /Iteration 6 of 20/);
  });
});

longTest('the same reply four times trips the breaker, whatever its white space', async () => {
  const script: Script = {
    main: ({ index }) => text(`I am stuck${' '.repeat(index + 1)}here${'.'.repeat(index % 2)}`),
  };
  await inLoopProject({ standIn: true, frontmatter: 'max_iterations: 20' }, script, async (project) => {
    const run = await project.run();
    assertTripped(project, run, 'same reply', 4, /the same reply 4 times in a row/);
  });
});

test('three iterations with every tool call denied trip the breaker; one allowed call keeps it closed', async () => {
  const denied = bash('echo {} > .claude/settings.json');
  const allowed = bash('echo fine');
  await inLoopProject(
    { standIn: !IS_LONG, frontmatter: 'max_iterations: 20' },
    steps([
      ...[denied, text('One.')],
      ...[denied, allowed, text('Two.')],
      ...[denied, text('Three.')],
      ...[denied, denied, text('Four.')],
      ...[denied, text('Five.')],
    ]),
    async (project) => {
      const run = await project.run();
      project.model.check();
      assertTripped(project, run, 'denials', 5, /every tool call was denied in 3 iterations in a row/);
      assert.deepEqual(
        project.iterations().map(({ toolCalls, deniedCalls }) => [toolCalls, deniedCalls]),
        [
          [1, 1],
          [2, 1],
          [1, 1],
          [2, 2],
          [1, 1],
        ],
      );
    },
  );
});

longTest('iterations without a durable change trip the breaker if the loop asks for it', async () => {
  await inLoopProject(
    { standIn: true, frontmatter: 'breaker: {no_progress: 2}\nmax_iterations: 20', git: true },
    steps([
      ...[text('Looking first, with nothing to compare.')],
      ...[bash('echo 1 > work.txt'), text('A change.')],
      ...[bash('cat work.txt'), text('Only looked.')],
      ...[bash('git add -A && git commit -qm work && git log --oneline'), text('Committed.')],
      ...[
        bash('mkdir -p .claude/context/memory; echo note > .claude/context/memory/decisions.md'),
        text('The loop’s own files do not count.'),
      ],
      ...[text('Thinking again.')],
    ]),
    async (project) => {
      const run = await project.run();
      project.model.check();
      assertTripped(project, run, 'no progress', 6, /no durable change in 2 iterations/);
    },
  );
});

longTest('the same message repeated is an iteration each time, and trips nothing with that signal off', async () => {
  await inLoopProject(
    { standIn: true, frontmatter: 'breaker: {same_reply: 0}\nmax_iterations: 6' },
    { main: () => text('The very same words.') },
    async (project) => {
      const run = await project.run();
      assert.equal(run.code, 2);
      assert.equal(project.ended().as, 'max-iterations');
    },
  );
});
