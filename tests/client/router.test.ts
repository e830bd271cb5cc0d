import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runClient, startClient } from '../support/client/client.ts';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { answerIn, routerCommand, routerHost } from '../support/client/router-host.ts';
import { bash, hang, type Script, startScriptedModel, steps, text } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const validated = 'validation:\n  - test -f done';
const done = 'Everything is in order.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS';

/** Nothing of ours is registered for the host's own session. */
const withoutHooks = ({ workspace }: LoopProject): void => void workspace.write('.claude/settings.json', {});

const hostRun = ({ workspace, model }: LoopProject) => runClient({ workspace, model, prompt: '/ralph-loop, please' });

test('a host session waits for consent, works three iterations with subagents and completes without a hook', async () => {
  const answers: Record<string, unknown>[] = [];
  const work = steps([
    text('Looked around.\n\nRALPH_ITERATION_COMPLETE: 2 findings remain'),
    text(`Mended one.\n\n${done}`),
    bash('touch done'),
    text(`Mended all.\n\n${done}`),
  ]);
  const asked: Record<string, unknown>[] = [];
  const asking = routerHost(() => text(done), { answers: asked });
  await inLoopProject({ frontmatter: validated }, asking, async (project) => {
    withoutHooks(project);
    const before = await hostRun(project);
    assert.equal(before.result?.['result'], 'The loop is over: awaiting-consent.');
    assert.deepEqual(asked[0]?.['commands'], ['test -f done']);
    const agreed = project.inPerson(['start', '--consent']);
    assert.equal(agreed.code, 0, agreed.stderr);
    const first = bash(`${routerCommand} next`);
    const model = await startScriptedModel(routerHost(work.main, { first, answers }));
    const run = await runClient({ workspace: project.workspace, model, prompt: 'go on' }).finally(() => model.close());
    assert.equal(run.code, 0, run.stderr);
    assert.equal(run.result?.['result'], 'The loop is over: complete.');
    assert.deepEqual(
      answers.map(({ action, spawn, iteration, agentType, status, verified }) =>
        action === 'spawn' ? [spawn, iteration, agentType] : [status, verified],
      ),
      [
        [1, 1, 'ralph-qa'],
        [2, 2, 'ralph-qa'],
        [3, 3, 'ralph-qa'],
        ['complete', true],
      ],
    );
    const subagents = model.requests.filter(({ kind }) => kind === 'subagent');
    assert.match(subagents[1]?.sinceText ?? '', /\[ralph\] Iteration 2 of 25/);
    assert.match(subagents[2]?.sinceText ?? '', /Iteration 3 of 25[\s\S]*claim of completion was rejected/);
    assert.equal(project.ended().as, 'complete');
    assert.equal(project.ended().verified, true);
    const records = project
      .iterations()
      .map(({ iteration, findings, outputTokens }) => [iteration, findings, outputTokens]);
    assert.deepEqual(records, [
      [1, 2, 20],
      [2, null, 20],
      [3, null, 40],
    ]);
    assert.doesNotMatch(run.stdout, /hook_started|Stop hook/);
  });
});

test("a host may end its turn in mid-loop, and a later session takes over with its subagent's text", async () => {
  const first = steps([bash(`${routerCommand} start`), text('I have better things to do.')]);
  await inLoopProject({}, first, async (project) => {
    const left = await hostRun(project);
    assert.equal(left.result?.['result'], 'I have better things to do.');
    assert.equal(project.state()?.['mode'], 'router');
    const answers: Record<string, unknown>[] = [];
    const work = steps([text('One.\n\nRALPH_ITERATION_COMPLETE: 1 finding remains'), text(`Two.\n\n${done}`)]);
    const report = (spawn: number, _id: string, result: string): string => {
      const call = `${routerCommand} report --spawn ${spawn} <<'END'\n${result}\nEND`;
      return `(${call}\n) > /dev/null; (${call}\n) > /dev/null; ${call}`;
    };
    const later = routerHost(work.main, { first: bash(`${routerCommand} next`), answers, report });
    const model = await startScriptedModel(later);
    try {
      const run = await runClient({ workspace: project.workspace, model, prompt: 'go on' });
      assert.equal(run.result?.['result'], 'The loop is over: complete.');
      assert.deepEqual([answers[0]?.['spawn'], answers[0]?.['iteration']], [2, 1]);
      assert.equal(project.events('loop.taken-over').length, 1);
      assert.deepEqual(
        project.iterations().map(({ iteration, findings }) => [iteration, findings]),
        [
          [1, 1],
          [2, null],
        ],
      );
    } finally {
      await model.close();
    }
  });
});

longTest('a second session learns who drives the loop and changes nothing', async () => {
  const host = routerHost(() => hang());
  await inLoopProject({}, host, async (project) => {
    const { workspace, model } = project;
    const running = startClient({ workspace, model, prompt: 'run the loop' });
    try {
      await until('the first subagent is asked', () => model.requests.some(({ kind }) => kind === 'subagent'));
      const before = JSON.stringify(project.state());
      const answers: Record<string, unknown>[] = [];
      const calls = ['start', 'next', 'report --spawn 1 < /dev/null'].map((words) => bash(`${routerCommand} ${words}`));
      const asking = steps([...calls, text('I leave it alone.')]);
      const second: Script = {
        ...asking,
        main: (request) => {
          const answer = answerIn(request);
          if (answer !== null) answers.push(answer);
          return asking.main(request);
        },
      };
      const other = await startScriptedModel(second);
      try {
        await runClient({ workspace, model: other, prompt: 'run the loop too' });
        other.check();
      } finally {
        await other.close();
      }
      assert.deepEqual(
        answers.map(({ action, status }) => [action, status]),
        Array(3).fill(['stop', 'busy']),
      );
      const holder = project.state()?.['sessionId'];
      assert.deepEqual(answers[0]?.['holder'], { sessionId: holder, pid: running.pid });
      assert.equal(JSON.stringify(project.state()), before);
    } finally {
      running.signal('SIGKILL');
      await running.done;
    }
  });
});

test("the guardrails of a task apply in a router's subagent, but not in the host", async () => {
  const frontmatter = 'guardrails:\n  block_commands:\n    - {command: touch, args: [forbidden]}';
  const work = steps([bash('touch forbidden'), bash('touch allowed'), text(done)]);
  const first = bash(`touch host-may && ${routerCommand} start`);
  await inLoopProject({ frontmatter }, routerHost(work.main, { first }), async (project) => {
    const run = await hostRun(project);
    assert.equal(run.result?.['result'], 'The loop is over: complete.');
    const { workspace } = project;
    assert.deepEqual(['forbidden', 'allowed', 'host-may'].map(workspace.has), [false, true, true]);
    assert.deepEqual(
      project.calls().map(({ phase, tool }) => `${phase} ${tool}`),
      ['denied Bash', 'asked Bash', 'done Bash'],
    );
  });
});

test('control: a subagent of another type obeys no guardrail, and start says so', async () => {
  const frontmatter = 'guardrails:\n  block_commands:\n    - {command: touch, args: [forbidden]}';
  const work = steps([bash('touch forbidden'), text(done)]);
  const answers: Record<string, unknown>[] = [];
  const first = bash(`rm .claude/agents/ralph-*.md && ${routerCommand} start`);
  await inLoopProject({ frontmatter }, routerHost(work.main, { first, answers }), async (project) => {
    await hostRun(project);
    assert.equal(project.workspace.has('forbidden'), true);
    assert.equal(answers[0]?.['agentType'], 'general-purpose');
    assert.match(String(answers[0]?.['notes']), /Guardrails are not enforced for this subagent/);
  });
});
