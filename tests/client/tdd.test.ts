import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runClient } from '../support/client/client.ts';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { routerCommand, routerHost } from '../support/client/router-host.ts';
import { runRunner } from '../support/client/runner.ts';
import { bash, type ModelRequest, type Script, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';

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
  const number = [...texts.matchAll(/Scenario sc-00(\d), test-first/g)].at(-1)?.[1];
  const tdd = [...texts.matchAll(/(node '[^']*main\.cjs' tdd(?: --loop \w+)?) next/g)].at(-1)?.[1];
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
    assert.match(greenEvidence, new RegExp(`(?:ok 1 -|✔) file ${at + 1}`));
  }
};

test('a session works through the scenarios test-first and is complete when all are proved', async () => {
  await inLoopProject({ standIn: !IS_LONG }, obedient, async (project) => {
    makeList(project, 2);
    const run = await project.run({ args: ['--tdd', '--max-iterations', '8'] });
    assert.equal(run.code, 0, run.said);
    assert.deepEqual(
      { as: project.ended().as, verified: project.ended().verified },
      { as: 'complete', verified: true },
    );
    assert.equal(project.iterations().length, 2);
    assertProved(project, 2);
  });
});

/** Ends each context after the red run; the one that goes on knows of it by its prompt alone. */
const halting: Script = {
  main: (request) => {
    const { tdd, number } = told(request);
    if (/"phase": "red"/.test(request.sinceText)) return text(`The test of ${number} fails, as it should.`);
    if (/"phase": "green"/.test(request.sinceText)) return bash(`${tdd} refactored`);
    if (/"phase": "refactored"/.test(request.sinceText)) return text(`Scenario ${number} is done.`);
    const goesOn = /Its test is written and fails/.test(request.sinceText);
    return goesOn ? bash(`touch made-${number}; ${tdd} green`) : bash(`${writeTest(number)}; ${tdd} red`);
  },
};

longTest(
  'a runner gives each fresh context its scenario, and the red evidence verbatim to one that continues',
  async () => {
    await inLoopProject({ standIn: true, init: false }, halting, async (project) => {
      makeList(project, 2);
      const run = await runRunner(project, { args: ['--tdd'] });
      assert.equal(run.code, 0, run.stdout + run.stderr);
      assert.deepEqual(
        { as: project.ended().as, verified: project.ended().verified },
        { as: 'complete', verified: true },
      );
      assert.equal(project.iterations().length, 4);
      assertProved(project, 2);
      const state = JSON.parse(project.workspace.read(stateFile)) as TddState;
      const second = project.model.mainRequests().find(({ sinceText }) => /Iteration 2 of/.test(sinceText));
      assert.ok(second?.sinceText.includes(state.completedScenarios[0]?.redEvidence ?? '?'), 'verbatim');
      assert.equal(second?.body.messages.filter(({ role }) => role === 'assistant').length, 0);
    });
  },
);

longTest('a host session has subagents prove the scenarios and passes the red evidence on verbatim', async () => {
  const answers: Record<string, unknown>[] = [];
  const first = bash(`${routerCommand} start --tdd`);
  await inLoopProject({}, routerHost(halting.main, { first, answers }), async (project) => {
    makeList(project, 2);
    const { workspace, model } = project;
    const run = await runClient({ workspace, model, prompt: '/ralph-loop, test-first' });
    const last = model.mainRequests().at(-1)?.sinceText.slice(-2_000);
    assert.equal(
      run.result?.['result'],
      'The loop is over: complete.',
      `${run.stderr}${JSON.stringify(answers)}\n${last}`,
    );
    assert.deepEqual(
      answers.map(({ action, agentType, status, verified }) => (action === 'spawn' ? agentType : [status, verified])),
      [...Array.from({ length: 4 }, () => 'ralph-developer'), ['complete', true]],
    );
    assertProved(project, 2);
    const state = JSON.parse(workspace.read(stateFile)) as TddState;
    const second = model.requests.find((each) => each.kind === 'subagent' && /Iteration 2 of/.test(each.sinceText));
    assert.ok(second?.sinceText.includes(state.completedScenarios[0]?.redEvidence ?? '?'), 'verbatim');
  });
});

longTest('a scenario without progress trips the breaker, and a resumed loop continues with it', async () => {
  let stuck = true;
  const script: Script = {
    main: (request) => {
      if (stuck) return text(`I thought about it ${'again '.repeat(request.index)}and wrote nothing.`);
      return obedient.main(request);
    },
  };
  await inLoopProject({ standIn: true }, script, async (project) => {
    makeList(project, 1);
    const run = await project.run({ args: ['--tdd'] });
    assert.equal(run.code, 2, run.said);
    assert.equal(project.ended().as, 'circuit-open');
    assert.match(project.ended().message, /\(tdd\): scenario sc-001 did not change for 3 iterations/);
    assert.equal(project.iterations().length, 4);
    stuck = false;
    const resumed = await project.run({ args: ['--resume'] });
    assert.equal(resumed.code, 0, resumed.said);
    assertProved(project, 1);
    assert.equal(project.iterations().length, 5);
  });
});

test('an agent that forges the state, swaps the list or only claims is detected and has to prove it', async () => {
  const forged = JSON.stringify({ scenarios: [], completedScenarios: [], currentScenario: null, evidenceLog: [] });
  const attempts = (tdd: string): readonly string[] => [
    `printf '%s' '${forged}' > ${stateFile}`,
    `node -e 'require("fs").writeFileSync(".claude/context/runtime/td" + "d-state.json", process.argv[1])' '${forged}'`,
    `${tdd} init --fresh --scenario anything --command true`,
    `${tdd} init --consent`,
    `${tdd} green`,
  ];
  let tried = 0;
  const script: Script = {
    main: (request) => {
      const { tdd } = told(request);
      const list = attempts(tdd);
      if (tried < list.length) return bash(list[tried++] ?? '');
      if (tried === list.length) {
        tried += 1;
        return text('All done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');
      }
      return obedient.main(request);
    },
  };
  await inLoopProject({ standIn: true }, script, async (project) => {
    makeList(project, 1);
    const run = await project.run({ args: ['--tdd'] });
    assert.equal(run.code, 0, run.said);
    const results = project.model.mainRequests().map(({ sinceText }) => sinceText);
    assert.match(results[1] ?? '', /rule own-files/, 'a write that the guard sees is denied');
    assert.match(results[3] ?? '', /a loop is working on it/, 'the list is not the agent’s to replace');
    assert.match(results[4] ?? '', /tdd --consent is reserved for the user/);
    assert.match(results[5] ?? '', /no red evidence for sc-001/);
    assert.equal(project.events('completion.rejected').length, 1);
    const rejected = results.find((each) => /Iteration 2 of/.test(each)) ?? '';
    assert.match(rejected, /0 of 1 scenarios were proved; left: sc-001/);
    assertProved(project, 1);
  });
});

longTest('an allowlist allows the steps of the loop that the prompt asks for, and nothing else', async () => {
  const frontmatter = 'guardrails: { shell_policy: { mode: allowlist, allow: ["touch .*"] } }';
  const script: Script = {
    main: (request) => {
      const { tdd, number } = told(request);
      if (/"phase": "green"/.test(request.sinceText)) return text(`Scenario ${number} is done.`);
      if (/"phase": "red"/.test(request.sinceText)) return bash(`touch made-${number}; ${tdd} green`);
      return request.index === 0 ? bash('echo not allowed > other.txt') : bash(`${tdd} red`);
    },
  };
  const files = { 'tests/1.test.mjs': `${writeTest('1').match(/"(.*)"/)?.[1]}` };
  await inLoopProject({ standIn: true, frontmatter, files }, script, async (project) => {
    makeList(project, 1);
    const run = await project.run({ args: ['--tdd', '--task', '.claude/ralph/PROMPT.md'] });
    assert.equal(run.code, 0, run.said);
    assert.equal(project.workspace.has('other.txt'), false);
    assert.equal(project.ended().as, 'complete');
  });
});
