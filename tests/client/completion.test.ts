import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLoopProject } from '../support/client/loop-project.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';

const claim = 'Everything is done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS';
const learnings = '.claude/context/memory/learnings.md';
const guardrails = '.claude/ralph/guardrails.md';
const validated = (run: string): string => `validation:\n  - name: proof\n    run: ${run}\nmax_iterations: 6`;

longTest(
  'a claim whose validation passes completes the loop, which leaves a learning and its whole state',
  async () => {
    await inLoopProject(
      { standIn: true, frontmatter: validated('test -f done.txt') },
      steps([bash('touch done.txt'), text(claim)]),
      async (project) => {
        const run = await project.run();
        project.model.check();
        assert.equal(run.code, 0, run.said);
        const { as, verified, message } = project.ended();
        assert.deepEqual({ as, verified }, { as: 'complete', verified: true });
        assert.ok(run.said.includes(message), 'the user reads why it ended');
        assert.equal(project.state(), null);
        assert.match(project.archive()[0]?.name ?? '', /^\d{4}-\d\d-\d\dT.*Z-complete\.json$/);
        const added = project.workspace.read(learnings);
        assert.match(added, /^# Learnings\n\n- .* UTC, the loop \(complete\): Complete after 1 iteration/);
      },
    );
  },
);

longTest('a claim with nothing to verify completes and is reported as unverified', async () => {
  await inLoopProject({ standIn: true, frontmatter: 'max_iterations: 3' }, steps([text(claim)]), async (project) => {
    const run = await project.run();
    project.model.check();
    assert.equal(run.code, 0);
    assert.equal(project.ended().verified, false);
    assert.match(run.said, /No checks are configured/);
    assert.match(project.ended().message, /unverified: no checks are configured/);
  });
});

test('a rejected claim is returned with its reasons, and the loop continues until one holds', async () => {
  await inLoopProject(
    { standIn: !IS_LONG, frontmatter: validated('cat made.txt && exit $(cat made.txt)') },
    steps([bash('echo 7 > made.txt'), text(claim), bash('echo 0 > made.txt'), text(`${claim}\n`)]),
    async (project) => {
      const run = await project.run();
      project.model.check();
      const told = project.model.mainRequests()[2]?.sinceText ?? '';
      assert.match(told, /Your claim of completion was rejected/);
      assert.match(told, /proof: exit code 7\.\s+7/);
      assert.equal(run.code, 0);
      assert.equal(project.ended().verified, true);
      assert.deepEqual(
        project.iterations().map(({ claimed, decision }) => [claimed, decision]),
        [
          [true, 'claimed'],
          [true, 'claimed'],
        ],
      );
    },
  );
});

longTest('a signal in a code fence or inside a sentence does not count, and the next prompt says so', async () => {
  const fenced = 'I would end with\n\n```\nRALPH_AUDIT_COMPLETE_NO_FINDINGS\n```\n\nbut not yet.';
  const inSentence = 'Soon I shall write RALPH_AUDIT_COMPLETE_NO_FINDINGS here.';
  await inLoopProject(
    { standIn: true, frontmatter: 'max_iterations: 6' },
    steps([text(fenced), text(inSentence), text(claim)]),
    async (project) => {
      const run = await project.run();
      project.model.check();
      const told = project.model.mainRequests().map(({ sinceText }) => sinceText);
      const seen = /contained RALPH_AUDIT_COMPLETE_NO_FINDINGS inside other text, where it does not count/;
      assert.doesNotMatch(told[0] ?? '', seen);
      assert.match(told[2] ?? '', seen);
      assert.deepEqual(
        project.iterations().map(({ claimed }) => claimed),
        [false, false, true],
      );
      assert.match(told[1] ?? '', seen, 'the fenced one is told as well');
      assert.equal(run.code, 0);
    },
  );
});

longTest('a claim that is rejected twice for one reason leaves one sign', async () => {
  await inLoopProject(
    { standIn: true, frontmatter: 'validation:\n  - name: proof\n    run: exit 1\nmax_iterations: 3' },
    steps([text(`First. ${claim}`), text(`Second. ${claim}`), text(`Third. ${claim}`)]),
    async (project) => {
      const signs = (): number =>
        project.workspace.read(guardrails).match(/^### Sign: Completion rejected twice: proof$/gm)?.length ?? 0;
      assert.equal(signs(), 0);
      const run = await project.run();
      project.model.check();
      assert.equal(run.code, 2);
      assert.equal(project.ended().as, 'max-iterations');
      assert.equal(signs(), 1);
      assert.match(project.workspace.read(guardrails), /Run each failed command yourself/);
    },
  );
});

longTest('a test run without an executed test proves nothing', async () => {
  await inLoopProject(
    {
      standIn: true,
      frontmatter: validated('node --test --test-reporter=spec'),
      files: { 'package.json': '{"name":"empty"}\n' },
    },
    steps([
      text(claim),
      bash("printf %s \"require('node:test').test('one', () => {});\" > one.test.js"),
      text(`Now there is a test. ${claim}`),
    ]),
    async (project) => {
      const run = await project.run();
      project.model.check();
      const told = project.model.mainRequests()[1]?.sinceText ?? '';
      assert.match(told, /proof: vacuous: .*reports no test that it executed, which proves nothing/);
      assert.equal(run.code, 0);
    },
  );
});
