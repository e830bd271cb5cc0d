import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLoopProject } from '../support/client/loop-project.ts';
import type { JsonObject } from '../support/client/workspace.ts';
import { bash, delay, type Reply, steps, text, together, tool, withUsage } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';

/** The client writes its transcript a moment late: the last message of all may be missing, and no other. */
const late = (reply: Reply): Reply => delay(250, reply);
const used = (state: JsonObject | undefined): Record<string, unknown> => state?.['usage'] as Record<string, unknown>;

longTest('a budget of tokens warns the agent and ends the loop', async () => {
  const usage = {
    input_tokens: 300,
    output_tokens: 100,
    cache_creation_input_tokens: 50,
    cache_read_input_tokens: 50,
  };
  await inLoopProject(
    { frontmatter: 'budget: {max_tokens: 1600, warn_at: 0.5}\nmax_iterations: 20', usage },
    { main: ({ index }) => late(text(`turn ${index}`)) },
    async (project) => {
      const run = await project.run();
      assert.equal(run.code, 2, run.said);
      assert.equal(project.ended().as, 'budget-exhausted');
      assert.match(run.said, /Stopped: the budget max_tokens is exhausted/);
      const { costUsd: _, costBaseUsd: __, ...tokens } = used(project.archive()[0]?.state);
      const turns = project.model.mainRequests().length;
      const counted = Number(tokens['outputTokens']) / 100;
      assert.ok(turns === counted || turns === counted + 1, `${counted} of ${turns} messages counted`);
      // Four messages of 450 tokens, what came from the cache left out.
      assert.ok(turns === 4 || turns === 5, `${turns} turns`);
      assert.deepEqual(tokens, {
        inputTokens: 300 * counted,
        outputTokens: 100 * counted,
        cacheReadTokens: 50 * counted,
        cacheWriteTokens: 50 * counted,
      });
      assert.equal(project.events('budget.warning').length, 1);
      const warned = project.model
        .mainRequests()
        .filter(({ sinceText }) => /Budget max_tokens: .* used/.test(sinceText));
      assert.equal(warned.length, 1, 'the next prompt says it once');
    },
  );
});

test('usage counts every message once, however many blocks it has, subagents’ included', async () => {
  const delegate = tool('Agent', {
    description: 'look',
    prompt: 'look around',
    subagent_type: 'general-purpose',
    run_in_background: false,
  });
  const main = steps([
    // Three blocks are three lines of the transcript, each with the whole usage of the message.
    withUsage(together(text('three at once'), bash('echo a'), bash('echo b')), {
      input_tokens: 1_000,
      output_tokens: 10,
    }),
    withUsage(delegate, { input_tokens: 2_000, output_tokens: 20 }),
    late(withUsage(text('one'), { input_tokens: 4_000, output_tokens: 40 })),
    late(withUsage(text('two'), { input_tokens: 8_000, output_tokens: 80 })),
  ]);
  let subagentTurns = 0;
  const subagent = () =>
    ++subagentTurns === 1
      ? withUsage(bash('echo sub'), { input_tokens: 100_000, output_tokens: 100 })
      : withUsage(text('seen'), { input_tokens: 200_000, output_tokens: 200 });
  await inLoopProject({ frontmatter: 'max_iterations: 2' }, { ...main, subagent }, async (project) => {
    const run = await project.run();
    project.model.check();
    assert.equal(run.code, 2, run.said);
    assert.equal(subagentTurns, 2);
    const { inputTokens, outputTokens } = used(project.archive()[0]?.state);
    const last = inputTokens === 315_000 ? [8_000, 80] : [0, 0];
    assert.deepEqual([inputTokens, outputTokens], [307_000 + Number(last[0]), 370 + Number(last[1])]);
    assert.equal(
      project.calls().filter(({ agentId }) => agentId !== undefined).length,
      2,
      'its call is in the journal',
    );
  });
});
