import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loopIteration } from '../../src/core/schema/loop-iteration.ts';
import { inLoopProject, type LoopProject } from './support/loop-project.ts';
import { ofType, runRunner } from './support/runner.ts';
import { bash, steps, text } from './support/scripted-model.ts';

const TASK = '.ralph/site/task.md';

const list = (...items: readonly string[]): string =>
  `---\nvalidation: ["test -f three.txt"]\n---\n# Goals\n\nThree files.\n\n# Checklist\n\n${items.map((item) => `- ${item}\n`).join('')}\n# Notes\n`;

const THREE = list('[ ] make one.txt', '[ ] make two.txt', '[ ] make three.txt');

/** The agent's way of checking an item off. */
const check = (item: string) =>
  bash(`touch ${item}.txt; sed -i 's/- \\[ \\] make ${item}/- [x] make ${item}/' ${TASK}`);

const prompts = (project: LoopProject): string[] => project.model.mainRequests().map(({ sinceText }) => sinceText);

test('a checklist of three is worked off in three fresh contexts, and is complete when the last item is checked', async () => {
  const model = steps([
    check('one'),
    text('One is done.'),
    check('two'),
    text('Two is done.'),
    check('three'),
    text('Three is done.'),
  ]);
  await inLoopProject(
    { frontmatter: '', init: false, loop: 'site', files: { [TASK]: THREE } },
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
      assert.equal(ofType(run.events, 'loop-ended')[0]?.status, 'complete');
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
      assert.deepEqual(state['checklist'], { done: 3, total: 3, most: 3 });
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
