import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLoopProject } from '../support/client/loop-project.ts';
import { ofType, runRunner } from '../support/client/runner.ts';
import { thenQuick } from '../support/client/then-quick.ts';
import { bash, type Reply, status, text } from '../support/model/scripted-model.ts';
import { longTest, someOf } from '../support/short-form.ts';

const options = { frontmatter: 'max_iterations: 5', init: false } as const;

/** What can be wrong with a run: how the loop records it, and tells it. `ends` where asking again cannot help. */
const KINDS: readonly {
  readonly kind: string;
  readonly reply: Reply;
  readonly args?: readonly string[];
  readonly told: RegExp;
  readonly ends: boolean;
  readonly standIn: boolean;
}[] = [
  {
    kind: 'billing',
    reply: status(400, { message: 'Your credit balance is too low to access the Anthropic API.' }),
    told: /billing.*Fix the billing problem\. Resume: ralph-loop resume/,
    ends: true,
    standIn: true,
  },
  {
    kind: 'prompt-too-long',
    reply: status(400, { message: 'prompt is too long: 250000 tokens > 200000 maximum' }),
    told: /too long/,
    ends: false,
    standIn: false,
  },
  {
    kind: 'refusal',
    reply: { ...text('I will not.'), stopReason: 'refusal' },
    told: /refused to continue/,
    ends: false,
    standIn: false,
  },
  {
    kind: 'max-turns',
    reply: bash('echo one'),
    args: ['--', '--max-turns', '1'],
    told: /reached its turn limit/,
    ends: false,
    standIn: true,
  },
];

for (const { kind, reply, args = [], told, ends, standIn } of someOf(KINDS, 2)) {
  const becomes = ends ? 'ends the loop with what to do' : 'is an iteration that failed, and the loop goes on';
  test(`a run that ends by ${kind} is recorded as such and ${becomes}`, async () => {
    // However often the client asks again, or compacts and asks again.
    const always = (): Reply => reply;
    await inLoopProject({ ...options, standIn }, { main: always, compaction: always }, async (project) => {
      const { env } = thenQuick(project, 'RALPH_AUDIT_COMPLETE_NO_FINDINGS');
      const run = await runRunner(project, { args, env });
      const [agent] = ofType(run.events, 'agent.ended');
      assert.equal(agent?.outcome, kind, run.stdout + run.stderr);
      assert.match(run.stdout, told);
      assert.equal(project.events('agent.ended')[0]?.['outcome'], kind);
      assert.equal(run.code, ends ? 1 : 0, run.stdout + run.stderr);
      assert.equal(project.events('iteration.failed').length, ends ? 0 : 1);
      assert.deepEqual(
        project.iterations().map(({ iteration }) => iteration),
        ends ? [] : [1, 2],
      );
    });
  });
}

longTest('a run that keeps ending with the same error opens the breaker', async () => {
  const frontmatter = 'max_iterations: 9\nbreaker: { same_error: 2 }';
  await inLoopProject({ ...options, standIn: true, frontmatter }, { main: () => bash('echo one') }, async (project) => {
    const run = await runRunner(project, { args: ['--', '--max-turns', '1'] });
    assert.equal(run.code, 2, run.stdout + run.stderr);
    assert.equal(project.ended().as, 'circuit-open');
    assert.match(project.ended().message, /same error.*the same error 3 times in a row/);
    assert.equal(project.iterations().length, 3);
  });
});
