import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runClient } from '../support/client/client.ts';
import { confinedTest } from '../support/client/client-facts.ts';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { routerCommand, routerHost } from '../support/client/router-host.ts';
import { runRunner } from '../support/client/runner.ts';
import type { JsonObject } from '../support/client/workspace.ts';
import type { ModelRequest, Script } from '../support/model/scripted-model.ts';
import { bash, startScriptedModel, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG } from '../support/short-form.ts';

const DONE = 'All is done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS';

/** What the last prompt named: the command line of tdd. */
const tddIn = (request: ModelRequest): string => {
  const tdd = [...JSON.stringify(request.body.messages).matchAll(/(node '[^']*main\.cjs' tdd) next/g)].at(-1)?.[1];
  if (tdd === undefined) throw new Error('the prompt names no command');
  return tdd;
};

const makeList = (project: LoopProject): void => {
  const scenarios = [{ description: 'makes the file', command: 'node --test it.test.mjs' }];
  project.workspace.write('scenarios.json', JSON.stringify({ scenarios }));
  assert.equal(project.main(['tdd', 'init', '--input', 'scenarios.json']).code, 0);
};

/** Writes where a confined test cannot; the write is the proof that its run was not confined. */
const testOf = (outside: string): string =>
  `import test from 'node:test'; import fs from 'node:fs'; import assert from 'node:assert';
try { fs.writeFileSync('${outside}', 'x'); } catch {}
test('the file is there', () => assert.ok(fs.existsSync('made'), 'made is missing'));`;

/** Calls that are not a step alone: each stays in the sandbox, where it cannot write its record. */
const strayForms = (tdd: string, outside: string): readonly string[] => [
  `${tdd} init --fresh --scenario x --command "touch ${outside}"`,
  `${tdd} red; touch made`,
  `${tdd} red > /dev/stderr`,
  `X=1 ${tdd} red`,
  `${tdd} red | cat`,
  `${tdd} red "$(touch made)"`,
];

/** Calls each step alone, as the prompt asks; the other forms are tried as well. */
const obedient = (outside: string, tried: string[]): Script => {
  let asked = -1;
  return {
    main: (request) => {
      const tdd = tddIn(request);
      const since = request.sinceText;
      const forms = strayForms(tdd, outside);
      if (asked === -1) {
        asked = 0;
        assert.match(JSON.stringify(request.body.messages), /each of these commands in a separate call/);
        return bash(`cat > it.test.mjs <<'END'\n${testOf(outside)}\nEND`);
      }
      if (asked > 0 && tried.length < forms.length) tried.push(since);
      asked += 1;
      const form = forms[asked - 1];
      if (form !== undefined) return bash(form);
      if (asked === forms.length + 1) return bash('rm -f made');
      if (asked === forms.length + 2) return bash(`${tdd} red`);
      if (/"phase": "refactored"/.test(since)) return text('The scenario is done.');
      if (/"phase": "green"/.test(since)) return bash(`${tdd} refactored`);
      return /"phase": "red"/.test(since) ? bash('touch made') : bash(`${tdd} green`);
    },
  };
};

confinedTest('a TDD loop completes in the sandbox, with its tests confined and every other call refused', async () => {
  const tried: string[] = [];
  let outside = '';
  const script = ({ root }: { readonly root: string }): Script => {
    outside = join(root, 'written-by-a-test');
    return obedient(outside, tried);
  };
  await inLoopProject({ init: false }, script, async (project) => {
    makeList(project);
    const args = ['--tdd', '--sandbox', '--max-iterations', '4'];
    const run = await runRunner(project, { args, permissionMode: 'acceptEdits' });
    assert.equal(run.code, 0, run.stdout + run.stderr);
    const { as, verified } = project.ended();
    assert.deepEqual({ as, verified }, { as: 'complete', verified: true });
    assert.ok(!existsSync(outside), 'the tests ran in a sandbox');
    assert.equal(tried.length, 6);
    for (const answer of tried) assert.match(answer, /Call it alone, exactly as in the prompt/);
  });
});

test('control: without the sandbox the same tests write outside', async () => {
  let outside = '';
  const script = ({ root }: { readonly root: string }): Script => {
    outside = join(root, 'written-by-a-test');
    const act = steps([bash(`cat > it.test.mjs <<'END'\n${testOf(outside)}\nEND`)], (request) =>
      /"phase": "red"/.test(request.sinceText) ? text('Enough.') : bash(`${tddIn(request)} red`),
    );
    return { main: act.main };
  };
  await inLoopProject({ standIn: !IS_LONG, init: false }, script, async (project) => {
    makeList(project);
    await runRunner(project, { args: ['--tdd', '--max-iterations', '1'] });
    assert.ok(existsSync(outside));
  });
});

const sandboxed: JsonObject = { enabled: true, autoAllowBashIfSandboxed: true, allowUnsandboxedCommands: false };

test("in a user's own sandbox the router names the setting that it needs, and completes with that setting", async () => {
  const frontmatter = 'validation:\n  - test -f done\nsandbox:\n  mode: on';
  const refused: string[] = [];
  const asking: Script = {
    main: (request) => {
      if (!request.sinceText.includes('/ralph-loop, please')) refused.push(request.sinceText);
      return refused.length === 0 ? bash(`${routerCommand} start`) : text('The user has to set it.');
    },
  };
  await inLoopProject({ frontmatter }, asking, async (project) => {
    const { workspace, model } = project;
    await runClient({ workspace, model, prompt: '/ralph-loop, please', settings: { sandbox: sandboxed } });
    const [sentence = ''] = refused;
    assert.match(sentence, /client's sandbox keeps this command from writing its record/);
    const [line = ''] = /\{"sandbox".*\}/.exec(sentence) ?? [];
    const { sandbox } = JSON.parse(line) as { readonly sandbox: JsonObject };
    assert.deepEqual(sandbox, { excludedCommands: [`${routerCommand} *`] });

    const settings = { sandbox: { ...sandboxed, ...sandbox } };
    const requesting = steps([bash(`${routerCommand} start`), text('The user has to agree.')]);
    const first = await startScriptedModel(requesting);
    await runClient({ workspace, model: first, prompt: 'go', settings }).finally(() => first.close());
    assert.equal(project.inPerson(['start', '--consent']).code, 0);

    const answers: Record<string, unknown>[] = [];
    const work = steps([bash('touch done'), text(DONE)]);
    const host = routerHost(work.main, { first: bash(`${routerCommand} next`), answers });
    const second = await startScriptedModel(host);
    const run = await runClient({ workspace, model: second, prompt: 'go on', settings }).finally(() => second.close());
    assert.equal(run.result?.['result'], 'The loop is over: complete.', JSON.stringify(answers));
    const { as, verified } = project.ended();
    assert.deepEqual({ as, verified }, { as: 'complete', verified: true });
  });
});
