import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loopIteration } from '../../src/engine/schema/records.ts';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { ofType, runRunner, startRunner } from '../support/client/runner.ts';
import { bash, hang, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const TASK = '.ralph/site/task.md';

const list = (...items: readonly string[]): string =>
  `---\nvalidation: ["test -f three.txt"]\n---\n# Goals\n\nThree files.\n\n# Checklist\n\n${items.map((item) => `- ${item}\n`).join('')}\n# Notes\n`;

const THREE = list('[ ] make one.txt', '[ ] make two.txt', '[ ] make three.txt');

/** The agent's way of checking an item off. */
const check = (item: string) =>
  bash(`touch ${item}.txt; sed -i 's/- \\[ \\] make ${item}/- [x] make ${item}/' ${TASK}`);

const prompts = (project: LoopProject): string[] => project.model.mainRequests().map(({ sinceText }) => sinceText);

test('a checklist of three takes three fresh contexts and is complete when the last item is checked', async () => {
  const model = steps([
    check('one'),
    text('One is done.'),
    check('two'),
    text('Two is done.'),
    check('three'),
    text('Three is done.'),
  ]);
  await inLoopProject(
    { standIn: true, frontmatter: '', init: false, loop: 'site', files: { [TASK]: THREE } },
    model,
    async (project) => {
      const run = await runRunner(project, { args: ['site'] });
      project.model.check();
      assert.equal(run.code, 0, run.stdout + run.stderr);
      const requests = project.model.mainRequests();
      assert.equal(new Set(requests.map(({ sessionId }) => sessionId)).size, 3, 'a session an iteration');
      const begins = prompts(project).filter((_, index) => index % 2 === 0);
      assert.match(begins[0] ?? '', /Checklist: 0 of 3[\s\S]*Next:\n- make one\.txt \(line 10\)/);
      assert.match(begins[1] ?? '', /Checklist: 1 of 3[\s\S]*Next:\n- make two\.txt/);
      assert.match(begins[2] ?? '', /Checklist: 2 of 3[\s\S]*Next:\n- make three\.txt/);
      assert.doesNotMatch(begins[2] ?? '', /One is done/);
      const { as, verified } = project.ended();
      assert.deepEqual({ as, verified }, { as: 'complete', verified: true });
      assert.deepEqual(
        project.iterations().map(({ iteration, claimed }) => [iteration, claimed]),
        [
          [1, false],
          [2, false],
          [3, true],
        ],
      );
      assert.equal(ofType(run.events, 'run.ended')[0]?.status, 'complete');
      const shown = ['001', '002', '003'].map((name) =>
        loopIteration.parse(project.workspace.json(`.ralph/site/iterations/${name}.json`)),
      );
      assert.deepEqual(
        shown.map(({ checklist, summary, turns, toolCalls }) => [checklist?.done, summary, turns, toolCalls]),
        [
          [1, 'One is done.', 2, 1],
          [2, 'Two is done.', 2, 1],
          [3, 'Three is done.', 2, 1],
        ],
      );
      assert.ok(shown.every(({ usage }) => (usage?.costUsd ?? 0) > 0 && (usage?.outputTokens ?? 0) > 0));
      const state = project.workspace.json('.ralph/site/state.json') as Record<string, unknown>;
      assert.deepEqual(state['checklist'], { done: 3, total: 3 });
      assert.equal(state['status'], 'ended');
      const kinds = project.workspace
        .jsonLines('.ralph/site/events.jsonl')
        .map((line) => (line as { type: string }).type);
      assert.deepEqual(
        kinds.filter((type) => type.startsWith('loop.')),
        ['loop.started', 'loop.ended'],
      );
    },
  );
});

const inLoop = (
  files: Readonly<Record<string, string>>,
  model: ReturnType<typeof steps>,
  body: (project: LoopProject) => Promise<void>,
  standIn = true,
): Promise<void> =>
  inLoopProject({ standIn: standIn || !IS_LONG, frontmatter: '', init: !standIn, loop: 'site', files }, model, body);

longTest('in a session the Stop hook works through a checklist as well', async () => {
  const model = steps([
    ...[check('one'), text('One is done.'), check('two'), text('Two is done.')],
    ...[check('three'), text('Three is done.')],
  ]);
  await inLoop(
    { [TASK]: THREE },
    model,
    async (project) => {
      const run = await project.run({ args: ['--task', '.ralph/site'] });
      project.model.check();
      assert.equal(run.code, 0, run.said);
      assert.match(prompts(project)[2] ?? '', /Iteration 2 of 50[\s\S]*Checklist: 1 of 3/);
      assert.deepEqual([project.ended().as, project.ended().verified], ['complete', true]);
      const shown = loopIteration.parse(project.workspace.json('.ralph/site/iterations/002.json'));
      assert.deepEqual([shown.checklist, shown.summary], [{ done: 2, total: 3 }, 'Two is done.']);
    },
    false,
  );
});

longTest('a finished checklist whose validation fails is returned with the reasons', async () => {
  const task = list('[ ] make three.txt');
  const model = steps([
    bash(`sed -i 's/- \\[ \\] make/- [x] make/' ${TASK}`),
    text('Done, I think.'),
    bash('touch three.txt'),
    text('Now it is.'),
  ]);
  await inLoop({ [TASK]: task }, model, async (project) => {
    const run = await runRunner(project, { args: ['site'] });
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.match(prompts(project)[2] ?? '', /claim of completion was rejected[\s\S]*three\.txt/);
    assert.match(prompts(project)[2] ?? '', /Checklist: 1 of 1[\s\S]*The only item is checked/);
    assert.equal(project.events('completion.rejected').length, 1);
    const first = loopIteration.parse(project.workspace.json('.ralph/site/iterations/001.json'));
    assert.deepEqual([first.completion.promiseSeen, first.completion.gatePassed], [true, false]);
  });
});

test('an agent that deletes its open items is not done: agent and user are informed', async () => {
  const model = steps([
    bash(`sed -i '/two.txt/d; /three.txt/d; s/- \\[ \\] make one/- [x] make one/' ${TASK}; touch three.txt`),
    text('All that is left is checked.'),
    bash(`sed -i 's/^- \\[x\\] make one.*/&\\n- [x] make two.txt: not needed\\n- [x] make three.txt/' ${TASK}`),
    text('They are back.'),
  ]);
  await inLoop({ [TASK]: THREE }, model, async (project) => {
    const run = await runRunner(project, { args: ['site'] });
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.match(
      prompts(project)[2] ?? '',
      /2 items of the list are missing[^\n]*\n- make two\.txt\n- make three\.txt\n/,
    );
    const told = ofType(run.events, 'agent.notice').map(({ message }) => message);
    assert.ok(
      told.some((message) =>
        /2 items are missing from \.ralph\/site\/task\.md: "make two\.txt", "make three\.txt"/.test(message),
      ),
      told.join('\n'),
    );
    assert.deepEqual(
      project.iterations().map(({ claimed }) => claimed),
      [false, true],
    );
  });
});

test("the agent may write the task but not the loop's own files in its directory", async () => {
  const model = steps([
    bash('echo "{}" > .ralph/site/config.json; touch wrote.txt'),
    bash('rm -r .ralph/site/iterations'),
    bash('echo hurry > .ralph/site/reflect.md'),
    ...[check('one'), check('two'), check('three'), text('Done.')],
  ]);
  const files = { [TASK]: THREE, '.ralph/site/config.json': '{"maxIterations": 2}' };
  await inLoop(files, model, async (project) => {
    const run = await runRunner(project, { args: ['site'] });
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.equal(project.workspace.read('.ralph/site/config.json'), files['.ralph/site/config.json']);
    assert.equal(project.workspace.has('wrote.txt'), false);
    assert.equal(project.workspace.has('.ralph/site/reflect.md'), false);
    assert.match(prompts(project)[0] ?? '', /Iteration 1 of 2/, 'the settings of the directory count');
  });
});

longTest(
  'the reflection comes first in the prompt when it is due, in the words of reflect.md, and is recorded',
  async () => {
    const model = steps([
      ...[check('one'), text('One is done.'), check('two'), text('Two is done.')],
      ...[check('three'), text('Three is done.')],
    ]);
    const files = { [TASK]: THREE, '.ralph/site/reflect.md': 'Is this still the best way?\n' };
    await inLoop(files, model, async (project) => {
      const run = await runRunner(project, { args: ['site', '--reflect-every', '2'] });
      project.model.check();
      assert.equal(run.code, 0, run.stdout + run.stderr);
      assert.match(
        prompts(project)[2] ?? '',
        /^\[ralph\] Iteration 2 of 50\.[^\n]*\n\n## Reflect first\n\nIs this still the best way\?/m,
      );
      assert.doesNotMatch((prompts(project)[0] ?? '') + (prompts(project)[4] ?? ''), /Reflect first/);
      assert.equal(project.archive()[0]?.state['lastReflection'], 2);
    });
  },
);

longTest('run --resume NAME continues a checklist after its runner was killed, with the list as it is', async () => {
  const model = steps([
    ...[check('one'), text('One is done.'), check('two'), hang()],
    ...[check('three'), text('Three is done.')],
  ]);
  await inLoop({ [TASK]: THREE }, model, async (project) => {
    const running = startRunner(project, { args: ['site'] });
    await until('the second item is checked', () => project.model.mainRequests().length === 4);
    running.kill();
    await running.done;
    const run = await runRunner(project, { args: ['--resume', 'site'] });
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.match(prompts(project)[4] ?? '', /Iteration 2 of 50[\s\S]*Checklist: 2 of 3/);
    assert.equal(project.ended().as, 'complete');
    assert.deepEqual(
      project.iterations().map(({ iteration }) => iteration),
      [1, 2],
    );
  });
});

longTest(
  'run with a new name makes a task from the template, refuses it unfilled, and starts it filled in',
  async () => {
    const model = steps([bash(`printf -- '- [x] say hello\\n' >> ${TASK}`), text('Hello.')]);
    await inLoop({}, model, async (project) => {
      const first = await runRunner(project, { args: ['site'] });
      assert.equal(first.code, 1);
      assert.match(
        first.stdout + first.stderr,
        /Created \.ralph\/site\/task\.md from the template[\s\S]*ralph-loop run site/,
      );
      const again = await runRunner(project, { args: ['site'] });
      assert.equal(again.code, 1);
      assert.match(again.stdout + again.stderr, /The template is not filled in/);
      project.workspace.write(TASK, project.workspace.read(TASK).replace(/(# Goals\n\n)<!--.*-->/, '$1Say hello.'));
      const run = await runRunner(project, { args: ['site'] });
      project.model.check();
      assert.equal(run.code, 0, run.stdout + run.stderr);
      assert.match(prompts(project)[0] ?? '', /has no checklist yet\. Make one first/);
      assert.equal(project.ended().as, 'complete');
      const refused = await runRunner(project, { args: ['site'] });
      assert.equal(refused.code, 1);
      assert.match(
        refused.stdout + refused.stderr,
        /\.ralph\/site\/task\.md has nothing to do: its only item is checked/,
      );
    });
  },
);
