import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { bash, type Script, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';

/** An agent that calls tools for ever, within one iteration. */
const busy: Script = { main: ({ index }) => (index > 12 ? text('over') : bash(`echo ${index}`)) };
/** Ends by itself only where the client ends it, which then asks the model again. */
const endless = 'until [ -e never ]; do sleep 0.5; done';
const RUN = ['run', '--permission-mode', 'bypassPermissions'];
const usage = { input_tokens: 400, output_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
const requests = ({ model }: LoopProject): number => model.mainRequests().length;
const costOf = ({ archive }: LoopProject): number =>
  Number((archive().at(-1)?.state['usage'] as Record<string, unknown> | undefined)?.['costUsd']);

test('run: a limit of tokens ends a busy iteration after at most one more model call', async () => {
  await inLoopProject({ frontmatter: 'budget: {max_tokens: 2000}', usage }, busy, async (project) => {
    const run = await project.run({ command: RUN });
    assert.equal(run.code, 2, `${run.said}\n${run.stderr}`);
    assert.equal(project.ended().as, 'budget-exhausted');
    assert.ok(requests(project) === 4 || requests(project) === 5, String(requests(project)));
    const more = await project.run({
      command: ['run', '--resume', ...RUN.slice(1), '--set', 'budget.max_tokens=4000'],
    });
    assert.equal(more.code, 2, `${more.said}\n${more.stderr}`);
    const all = requests(project);
    assert.ok(all >= 8 && all <= 10, `resumed: ${all}`);
  });
});

longTest('run: a limit of dollars ends a busy iteration after at most one more model call', async () => {
  const dear = { ...usage, input_tokens: 100_000, output_tokens: 10_000 };
  await inLoopProject({ frontmatter: 'budget: {max_cost: 1}', usage: dear }, busy, async (project) => {
    const run = await project.run({ command: RUN });
    assert.equal(run.code, 2, `${run.said}\n${run.stderr}`);
    assert.equal(project.ended().as, 'budget-exhausted');
    const [cost, count] = [costOf(project), requests(project)];
    assert.ok(cost >= 1 && cost - cost / count < 1, `$${cost} by ${count} calls`);
    const more = await project.run({ command: ['run', '--resume', ...RUN.slice(1), '--set', 'budget.max_cost=2'] });
    assert.equal(more.code, 2, `${more.said}\n${more.stderr}`);
    assert.ok(costOf(project) >= 2 && costOf(project) - cost / count < 2, `resumed: $${costOf(project)}`);
  });
});

test('run: a claim in the message that uses up the dollars is judged', async () => {
  const frontmatter = 'completion_promise: DONE\nbudget: {max_cost: 0.005}\nvalidation: ["test -f fixed"]';
  const script = steps([bash('touch fixed'), text('Fixed it.\n\n<promise>DONE</promise>')]);
  await inLoopProject({ frontmatter, usage }, script, async (project) => {
    const run = await project.run({ command: RUN });
    assert.ok(costOf(project) > 0.005, `control: $${costOf(project)} are more than the limit`);
    assert.deepEqual([run.code, project.ended().as, project.ended().verified], [0, 'complete', true], run.said);
    assert.deepEqual(project.archive().at(-1)?.state['lastWords'], ['Fixed it.']);
  });
});

test('control: without a limit the same iteration makes all its calls', async () => {
  await inLoopProject({ standIn: !IS_LONG, frontmatter: 'max_iterations: 1', usage }, busy, async (project) => {
    await project.run({ command: RUN });
    assert.equal(requests(project), 14);
  });
});

longTest('run: max_time ends a client whose command runs on', async () => {
  await inLoopProject({ frontmatter: 'budget: {max_time: 6s}' }, { main: () => bash(endless) }, async (project) => {
    const run = await project.run({ command: RUN });
    assert.equal(run.code, 2, `${run.said}\n${run.stderr}`);
    assert.equal(project.ended().as, 'budget-exhausted');
    assert.ok(requests(project) <= 1, 'the command was not waited for');
  });
});

test('session: a limit of tokens ends a busy iteration after at most one more model call', async () => {
  await inLoopProject(
    { standIn: !IS_LONG, frontmatter: 'budget: {max_tokens: 2000}', usage },
    busy,
    async (project) => {
      const run = await project.run();
      assert.equal(run.code, 2, `${run.said}\n${run.stderr}`);
      assert.equal(project.ended().as, 'budget-exhausted');
      assert.ok(requests(project) >= 4 && requests(project) <= 6, String(requests(project)));
      assert.match(run.said, /Stopped: the budget max_tokens is exhausted/);
    },
  );
});

test('session: a limit of tokens holds in the turn in which the user paused the loop', async () => {
  let pause = (): void => undefined;
  const script: Script = {
    main: (request) => {
      if (request.index === 1) pause();
      return busy.main(request);
    },
  };
  const frontmatter = 'budget: {max_tokens: 2000}';
  await inLoopProject({ standIn: !IS_LONG, frontmatter, usage }, script, async (project) => {
    let said = '';
    pause = () => {
      said = project.main(['pause']).stdout + project.main(['status']).stdout;
    };
    const run = await project.run();
    assert.match(said, /The loop is paused by you; the agent finishes its turn/);
    assert.equal(project.ended().as, 'budget-exhausted', `${run.said}\n${run.stderr}`);
    assert.ok(requests(project) >= 4 && requests(project) <= 6, String(requests(project)));
  });
});

test('session: max_time ends a client whose command runs on', async () => {
  await inLoopProject(
    { standIn: !IS_LONG, frontmatter: 'budget: {max_time: 8s}' },
    { main: () => bash(endless) },
    async (project) => {
      const run = await project.run();
      assert.equal(run.code, 2, `${run.said}\n${run.stderr}`);
      assert.equal(project.ended().as, 'budget-exhausted');
      assert.ok(requests(project) <= 1, 'the command was not waited for');
    },
  );
});

/** The check runs on once the agent has claimed, so not in the baseline. */
const LONG_CHECK = 'validation: ["test ! -e claimed || { touch begun; sleep 300; touch over; }"]';

longTest('session: max_time ends the checks of a claim, and the end says so', async () => {
  // Longer than a slow machine takes to the claim.
  const frontmatter = `budget: {max_time: 90s}\n${LONG_CHECK}`;
  const script = steps([bash('touch claimed'), text('RALPH_AUDIT_COMPLETE_NO_FINDINGS')]);
  await inLoopProject({ standIn: true, frontmatter }, script, async (project) => {
    const run = await project.run();
    assert.equal(run.code, 2, `${run.said}\n${run.stderr}`);
    assert.equal(project.ended().as, 'budget-exhausted');
    assert.match(project.ended().message, /checks of the last claim were cut short/);
    assert.deepEqual([project.workspace.has('begun'), project.workspace.has('over')], [true, false]);
  });
});
