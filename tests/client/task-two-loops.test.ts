import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runClient } from '../support/client/client.ts';
import { CLIENT } from '../support/client/client-facts.ts';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { taskLoop } from '../support/client/task-loop.ts';
import type { ModelRequest, Script, Step } from '../support/model/scripted-model.ts';
import { bash, startScriptedModel, steps, text } from '../support/model/scripted-model.ts';
import { until } from '../support/until.ts';

const ralph = (name: string): string => `---
commands:
  - { name: notes, run: cat ${name}.txt 2>/dev/null || echo none of ${name} }
max_iterations: 9
completion_promise: DONE
completion_gate: required
guardrails: { protected_files: ['${name}.lock'] }
---
Work on ${name}: {{ commands.notes }}
`;

/** The answers of one loop's model, apart from the other's; `turns` is how many requests it has answered. */
interface Side {
  readonly script: Script;
  turns: number;
}

const sideOf = (list: readonly Step[]): Side => {
  const inner = steps(list);
  const side: Side = {
    turns: 0,
    script: {
      ...inner,
      main: async (request) => {
        const reply = await inner.main(request);
        side.turns += 1;
        return reply;
      },
    },
  };
  return side;
};

/** Tells the sessions apart by the task that they were given. */
const together = (sides: Readonly<Record<string, Side>>): Script => ({
  main: (request) => {
    const name = Object.keys(sides).find((each) => isOf(request, each));
    const side = name === undefined ? undefined : sides[name];
    return side === undefined ? text('whose session is this?') : side.script.main(request);
  },
  problems: () => Object.values(sides).flatMap(({ script }) => script.problems?.() ?? []),
});

const isOf = ({ body }: ModelRequest, name: string): boolean =>
  JSON.stringify(body.messages).includes(`Work on ${name}: `);

/** Which of the loops each file of the runtime belongs to, by the ids in it; by path relative to its folder. */
const owners = (dirs: readonly string[], ids: Readonly<Record<string, string>>): Map<string, string[]> => {
  const files = dirs.flatMap((dir) =>
    !existsSync(dir)
      ? []
      : readdirSync(dir, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name)),
  );
  return new Map(
    files.map((path) => {
      const content = readFileSync(path, 'utf8');
      return [path, Object.keys(ids).filter((name) => content.includes(ids[name] ?? ''))];
    }),
  );
};

const promise = (said: string) => text(`${said}\n\n<promise>DONE</promise>`);

/** A session that somebody starts beside the loops, with a model of its own. */
const aside = async ({ workspace }: LoopProject): Promise<unknown> => {
  const model = await startScriptedModel(steps([bash('touch aside.txt'), text('I answer and end.')]));
  try {
    const run = await runClient({ workspace, model, prompt: 'a question' });
    model.check();
    return run.result?.['result'];
  } finally {
    await model.close();
  }
};

test('two task folders of a project run at once in two sessions, share nothing, and leave a third alone', async () => {
  let known: LoopProject | undefined;
  let third: unknown;
  /** Waits until the other side has answered so many requests. */
  const after = (other: () => Side, turns: number, then: Step): Step => {
    return async (request) => {
      await until(`the other has answered ${turns} times`, () => other().turns >= turns);
      return typeof then === 'function' ? then(request) : then;
    };
  };
  const alpha: Side = sideOf([
    bash('echo alpha one > alpha.txt; touch beta.lock'),
    after(() => beta, 2, text('one')),
    after(() => beta, 3, bash(`mkdir -p tasks/alpha && echo '# P0' > tasks/alpha/OPEN_QUESTIONS.md`)),
    after(() => beta, 4, promise('Alpha is done.')),
  ]);
  const beta: Side = sideOf([
    after(() => alpha, 1, bash('echo beta one > beta.txt; touch alpha.lock')),
    bash('touch beta.lock.tmp beta.lock'),
    after(() => alpha, 2, promise('Beta says that it is done.')),
    async () => {
      if (known !== undefined) third = await aside(known);
      return text('two');
    },
    after(() => alpha, 4, text('three')),
    async () => {
      await until(
        'alpha is over',
        () => known?.workspace.json('tasks/alpha/.ralph-runner/status.json')['status'] === 'complete',
      );
      const stopped = known?.main(['stop', 'tasks/beta']);
      assert.equal(stopped?.code, 0, stopped?.stderr);
      return text('four');
    },
  ]);
  const files = { 'tasks/alpha/RALPH.md': ralph('alpha'), 'tasks/beta/RALPH.md': ralph('beta') };
  await inLoopProject(
    { standIn: true, files, git: true, loop: 'alpha' },
    together({ alpha, beta }),
    async (project) => {
      known = project;
      const { workspace, model } = project;
      const [a, b] = [taskLoop(project, 'tasks/alpha'), taskLoop(project, 'tasks/beta')];
      const running = [a.start(), b.start()];
      await until('both work', () => alpha.turns >= 1 && beta.turns >= 1);
      const ids = { alpha: String(a.status().loopId), beta: String(b.status().loopId) };
      const which = project.main(['stop']);
      assert.equal(which.code, 1);
      assert.match(which.stderr, /2 loops are active here:[\s\S]*alpha[\s\S]*beta[\s\S]*\nChoose one/);

      const [first, second] = await Promise.all(running.map(({ done }) => done));
      model.check();
      assert.equal(first?.code, 0, first?.said);
      assert.equal(second?.code, 3, second?.said);
      assert.deepEqual([a.status().status, a.status().iteration], ['complete', 2]);
      assert.deepEqual([b.status().status, b.status().iteration], ['stopped', 4]);
      assert.equal(third, 'I answer and end.');

      assert.deepEqual(
        [a, b].map((each) => each.records().map(({ iteration }) => iteration)),
        [
          [1, 2],
          [1, 2, 3, 4],
        ],
      );
      const told = (name: string) =>
        model.mainRequests().flatMap((request) => (isOf(request, name) ? [request.sinceText] : []));
      assert.equal(told('alpha').filter((each) => /Iteration 2 of 9/.test(each)).length, 1);
      assert.match(told('beta')[3] ?? '', /missing; create it as tasks\/beta/);
      assert.ok(told('alpha').every((each) => !each.includes('Work on beta') && !each.includes('was rejected')));

      // Each is held by its own rules alone; what the other loop does to its protected files it puts back.
      assert.ok(told('beta').every((each) => !/blocked by guardrail[\s\S]*alpha\.lock/.test(each)));
      assert.equal(workspace.has('beta.lock.tmp'), false);

      const dirs = [
        project.files.runtimeDir,
        project.files.outsideDir,
        ...[a, b].map(({ inside }) => workspace.path(inside('.ralph-runner'))),
      ];
      const owned = [...owners(dirs, ids)];
      // The hooks' log is one for the project; for a client that prints no message of a Stop hook it has them of every loop.
      const shared = CLIENT.printsStopMessages ? null : project.files.log;
      for (const [path, of] of owned) assert.ok(of.length <= 1 || path === shared, `${path} is of ${of}`);
      assert.ok(owned.filter(([, of]) => of.includes('alpha')).length >= 6, 'control: files are of somebody');
      assert.ok(owned.filter(([, of]) => of.includes('beta')).length >= 6);
      assert.equal(workspace.transcripts().length, 3);
    },
  );
});
