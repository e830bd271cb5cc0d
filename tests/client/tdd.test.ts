import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLoopProject, type LoopProject } from './support/loop-project.ts';
import { runRunner } from './support/runner.ts';
import { bash, type ModelRequest, type Script, text } from './support/scripted-model.ts';

const stateFile = '.claude/context/runtime/tdd-state.json';

type TddState = {
  readonly completedScenarios: { readonly id: string; readonly redEvidence: string; readonly greenEvidence: string }[];
  readonly evidenceLog: { readonly scenarioId: string; readonly phase: string }[];
};

/** The list is the user's: each scenario wants a file of its own, and its test says so. */
const makeList = (project: LoopProject, scenarios: number): void => {
  const list = Array.from({ length: scenarios }, (_, at) => ({
    description: `makes the file number ${at + 1}`,
    command: `node --test tests/${at + 1}.test.mjs`,
  }));
  project.workspace.write('scenarios.json', JSON.stringify({ scenarios: list }));
  const init = project.main(['tdd', 'init', '--input', 'scenarios.json']);
  assert.equal(init.code, 0, init.stderr);
};

/** What the prompt that began this turn told: the command line of tdd, and the scenario's number. */
const told = (request: ModelRequest): { readonly tdd: string; readonly number: string } => {
  const texts = JSON.stringify(request.body.messages);
  const number = [...texts.matchAll(/Scenario sc-00(\d), by tests first/g)].at(-1)?.[1];
  const tdd = [...texts.matchAll(/(node '[^']*main\.cjs' tdd(?: --loop \w+)?) red/g)].at(-1)?.[1];
  if (number === undefined || tdd === undefined) throw new Error(`the prompt names no scenario: ${texts.slice(-2000)}`);
  return { tdd, number };
};

const writeTest = (number: string): string =>
  `mkdir -p tests && printf '%s' "import test from 'node:test'; import fs from 'node:fs'; import assert from 'node:assert'; test('file ${number}', () => assert.ok(fs.existsSync('made-${number}'), 'made-${number} is missing'));" > tests/${number}.test.mjs`;

/** An agent that does as the prompt says: red, green, refactored, in one iteration each. */
const obedient: Script = {
  main: (request) => {
    const { tdd, number } = told(request);
    if (/"phase": "refactored"/.test(request.sinceText)) return text(`Scenario ${number} is done.`);
    if (/"phase": "green"/.test(request.sinceText)) return bash(`${tdd} refactored`);
    if (/"phase": "red"/.test(request.sinceText)) return bash(`touch made-${number}; ${tdd} green`);
    return bash(`${writeTest(number)}; ${tdd} red`);
  },
};

const assertProved = (project: LoopProject, scenarios: number): void => {
  const state = JSON.parse(project.workspace.read(stateFile)) as TddState;
  const ids = Array.from({ length: scenarios }, (_, at) => `sc-00${at + 1}`);
  assert.deepEqual(
    state.evidenceLog.map(({ scenarioId, phase }) => `${scenarioId} ${phase}`),
    ids.flatMap((id) => ['red', 'green', 'refactored'].map((phase) => `${id} ${phase}`)),
  );
  assert.deepEqual(
    state.completedScenarios.map(({ id }) => id),
    ids,
  );
  for (const [at, { redEvidence, greenEvidence }] of state.completedScenarios.entries()) {
    assert.match(redEvidence, new RegExp(`made-${at + 1} is missing`));
    assert.match(greenEvidence, new RegExp(`ok 1 - file ${at + 1}`));
  }
};

test('a session works through the scenarios by tests first, and is complete when all are proved', async () => {
  await inLoopProject({}, obedient, async (project) => {
    makeList(project, 3);
    const run = await project.run({ args: ['--tdd', '--max-iterations', '8'] });
    assert.equal(run.code, 0, run.said);
    assert.deepEqual(
      { as: project.ended().as, verified: project.ended().verified },
      { as: 'complete', verified: true },
    );
    assert.equal(project.iterations().length, 3);
    assertProved(project, 3);
  });
});
