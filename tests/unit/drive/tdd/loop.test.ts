import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { scenarioSection } from '../../../../src/drive/prompt/extra-sections.ts';
import { giveConsent, pendingTerms } from '../../../../src/drive/start/live/consent.ts';
import { prepareContract, preparedTerms } from '../../../../src/drive/start/prepare-contract.ts';
import { provePhase } from '../../../../src/drive/tdd/prove-phase.ts';
import { requireList, tddChecks, tddFacts } from '../../../../src/drive/tdd/scenario-list.ts';
import type { TddRecord } from '../../../../src/engine/schema/tdd.ts';
import { readContract } from '../../../../src/state/loop-files.ts';
import { peekTdd, tddFiles, withTdd } from '../../../../src/state/tdd-store.ts';
import { aProject, aStop, PERSON, type Project, put, stateOf, UNASKED } from '../../../support/drive/drive-project.ts';
import { type Ready, startNow } from '../../../support/drive/start-now.ts';
import { AT, after, aList } from '../../../support/tdd-list.ts';

function keep({ files }: Project, change: (record: TddRecord) => TddRecord): void {
  withTdd(files, AT, (found) => {
    assert.ok(found.kind === 'list');
    return { next: change(found.record), result: undefined };
  });
}

const LOST = { code: 'evidence-lost' };
const PASSES = "require('node:test')('works', () => {});\n";

function putTest({ directory }: Project, name: string, text: string): void {
  put(join(directory, 'tests', name), text);
}

function aTddLoop(t: TestContext, more: Partial<Ready> = {}, list = aList(2)) {
  const project = aProject(t);
  for (const { id } of list.scenarios) putTest(project, `${Number(id.slice(3))}.test.js`, PASSES);
  withTdd(project.files, AT, () => ({ next: list, result: undefined }));
  const { directory, env } = project;
  const loop = startNow({
    ...{ projectDir: directory, name: null, task: null, flags: {}, env, at: AT, existing: 'refuse', consented: true },
    ...{
      headless: false,
      launched: false,
      clientVersion: null,
      bundleDir: '/bundle',
      baseline: null,
      tdd: true,
      ...more,
    },
  });
  return { project, loop, contract: loop.stored.contract };
}

test('reports the current scenario, and that all are complete', (t) => {
  const { project, contract } = aTddLoop(t);
  const { files } = project;
  assert.deepEqual(tddFacts(files, contract), { scenario: null });
  assert.match(scenarioSection(files, contract, AT) ?? '', /sc-001/);
  assert.deepEqual(tddFacts(files, contract), { scenario: 'sc-001' });
  keep(project, (record) => after(record, 'sc-001 red', 'sc-001 green', 'sc-002 red'));
  assert.deepEqual(tddFacts(files, contract), { scenario: 'sc-002' });
  keep(project, (record) => after(record, 'sc-002 green'));
  assert.deepEqual(tddFacts(files, contract), { scenario: 'sc-002', taskDone: true });
  assert.deepEqual(tddFacts(files, undefined), {}, 'nothing for a loop that is none');
});

test('the prompt contains the current scenario with its command and its red evidence verbatim', (t) => {
  const { project, contract } = aTddLoop(t);
  keep(project, (record) => after(record, 'sc-001 red'));
  const part = scenarioSection(project.files, contract, AT) ?? '';
  for (const said of ['sc-001', 'does the thing number 1', 'node --test tests/1.test.js', 'red of sc-001']) {
    assert.ok(part.includes(said), `${said} is missing in ${part}`);
  }
  assert.match(part, /node '\/bundle\/scripts\/main\.cjs' tdd green/);
  assert.equal(scenarioSection(project.files, { ...contract, tdd: undefined } as never, AT), null);
});

test('checks a claim against what was proved', (t) => {
  const { project, contract } = aTddLoop(t);
  const outcome = () => tddChecks(project.files, contract).map(({ outcome: what, detail }) => `${what}: ${detail}`)[0];
  assert.match(outcome() ?? '', /^failed: 0 of 2 scenarios were proved; left: sc-001, sc-002/);
  keep(project, (record) => after(record, 'sc-001 red', 'sc-001 green', 'sc-002 red', 'sc-002 green'));
  assert.equal(outcome(), 'ok: 2 of 2 scenarios were proved.');
  keep(project, (record) => ({ ...record, broken: { scenarioId: 'sc-002', output: '' } }));
  assert.match(outcome() ?? '', /^failed: sc-002 was green and fails now/);
});

test('a list that was replaced, lost or rewritten proves nothing', (t) => {
  const { project, contract } = aTddLoop(t);
  const { record: path } = tddFiles(project.files);
  const before = readFileSync(path, 'utf8');
  const record = JSON.parse(before) as TddRecord;
  const easier = record.scenarios.map((scenario) => ({ ...scenario, run: 'true' }));
  for (const text of [
    JSON.stringify({ ...after(record, 'sc-001 red', 'sc-001 green'), scenarios: record.scenarios.slice(0, 1) }),
    JSON.stringify({ ...record, scenarios: easier }),
    JSON.stringify({ ...record, listId: 'another' }),
    '{',
  ]) {
    writeFileSync(path, text);
    assert.throws(() => tddChecks(project.files, contract), LOST);
    assert.throws(() => tddFacts(project.files, contract), LOST);
    assert.throws(() => scenarioSection(project.files, contract, AT), LOST);
  }
  writeFileSync(path, before);
  assert.equal(tddChecks(project.files, contract)[0]?.outcome, 'failed');
});

test('a list that the system cannot repair loses no iteration, and the prompt says so', async (t) => {
  const { project } = aTddLoop(t);
  const { state, asideDir } = tddFiles(project.files);
  writeFileSync(state, '{}');
  writeFileSync(asideDir, 'in the way');
  const answer = await aStop(project, {}, { RALPH_ACTIVE: '1' });
  assert.match(answer?.reason ?? '', /## Scenarios\n\nthe list of scenarios is unusable \(EEXIST/);
});

test('a session is sent its scenario and completes once all are proved, without any signal', async (t) => {
  const { project } = aTddLoop(t);
  const bound = { RALPH_ACTIVE: '1' };
  const first = await aStop(project, {}, bound);
  assert.match(first?.reason ?? '', /Scenario sc-001, test-first \(0 of 2 complete\)/);
  keep(project, (record) => after(record, 'sc-001 red', 'sc-001 green'));
  const second = await aStop(project, { last_assistant_message: 'One is done.' }, bound);
  assert.match(second?.reason ?? '', /Scenario sc-002, test-first \(1 of 2 complete\)/);
  assert.equal(stateOf(project).breaker.tdd.value, 'sc-001');
  keep(project, (record) => after(record, 'sc-002 red', 'sc-002 green'));
  const last = await aStop(project, { last_assistant_message: 'Both are done.' }, bound);
  assert.equal(last?.decision, undefined);
  assert.match(last?.systemMessage ?? '', /Complete/);
});

test('an earlier claim is returned with what is left', async (t) => {
  const { project } = aTddLoop(t);
  const claim = { last_assistant_message: 'Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS' };
  const answer = await aStop(project, claim, { RALPH_ACTIVE: '1' });
  assert.match(answer?.reason ?? '', /scenarios: 0 of 2 scenarios were proved; left: sc-001, sc-002/);
});

test('a continued loop stays a TDD loop, whichever command starts it', (t) => {
  const { project, loop } = aTddLoop(t);
  const { directory, env } = project;
  const resumed = startNow({
    ...{ projectDir: directory, name: null, task: null, flags: {}, env, at: AT, existing: 'resume', consented: true },
    ...{ headless: false, launched: false, clientVersion: null, bundleDir: null, baseline: null },
  });
  assert.deepEqual(resumed.stored.contract.tdd, loop.stored.contract.tdd);
  const fresh = startNow({
    ...{ projectDir: directory, name: null, task: null, flags: {}, env, at: AT, existing: 'fresh', consented: true },
    ...{ headless: false, launched: false, clientVersion: null, bundleDir: null, baseline: null },
  });
  assert.equal(fresh.stored.contract.tdd, undefined);
});

test('a replaced list does not change the kind of a continued loop, unless the user says so', (t) => {
  const { project, loop } = aTddLoop(t);
  const { directory, env } = project;
  keep(project, (record) => ({ ...record, listId: 'list-2', loopId: null }));
  const resume = (tdd: boolean) =>
    startNow({
      ...{ projectDir: directory, name: null, task: null, flags: {}, env, at: AT, existing: 'resume', consented: true },
      ...{ headless: false, launched: false, clientVersion: null, bundleDir: '/bundle', baseline: null, tdd },
    });
  assert.throws(() => resume(false), /list of scenarios of this loop no longer exists/);
  const { loopId, stored } = resume(true);
  assert.deepEqual([loopId, stored.contract.tdd?.listId], [loop.loopId, 'list-2']);
});

test('an unreadable list does not change the kind of a continued loop', (t) => {
  const { project } = aTddLoop(t);
  const { directory, env, files } = project;
  writeFileSync(tddFiles(files).record, '{');
  const resume = (): unknown =>
    startNow({
      ...{ projectDir: directory, name: null, task: null, flags: {}, env, at: AT, existing: 'resume', consented: true },
      ...{ headless: false, launched: false, clientVersion: null, bundleDir: null, baseline: null },
    });
  assert.throws(resume, /the record of the TDD list, .* cannot be read/);
  assert.equal(stateOf(project).status, 'running');
});

test("an agent's start approves no command; the user's consent to the loop covers the list", (t) => {
  const { project } = aTddLoop(t, { consented: false }, aList(1, { consented: false }));
  assert.equal(peekTdd(project.files)?.consented, false);
  giveConsent(project.files, project.env, AT, pendingTerms(project.files), UNASKED);
  assert.equal(peekTdd(project.files)?.consented, true);
});

/** What the agent puts in the place of the list that the user was shown. */
function swapList({ files }: Project): void {
  const [scenario] = aList(1).scenarios;
  assert.ok(scenario);
  const scenarios = [{ ...scenario, run: 'touch pwned' }];
  withTdd(files, AT, () => ({ next: { ...aList(1, { consented: false }), scenarios }, result: undefined }));
}

test('consent to a loop does not cover a list that replaced the requested one', (t) => {
  const { project, loop } = aTddLoop(t, { consented: false }, aList(1, { consented: false }));
  swapList(project);
  assert.throws(
    () => giveConsent(project.files, project.env, AT, pendingTerms(project.files), UNASKED),
    /has changed since this loop was started/,
  );
  assert.equal(peekTdd(project.files)?.consented, false);
  assert.equal(stateOf(project).status, 'awaiting-consent');
  assert.equal(readContract(project.files)?.hash, loop.stored.hash, 'nothing was changed');
});

test('approval covers the list that was shown: another one is not started', (t) => {
  const { project } = aTddLoop(t, { consented: false }, aList(1, { consented: false }));
  const { directory, env, files } = project;
  const request: Ready = {
    ...{ projectDir: directory, name: null, task: null, flags: {}, env, at: AT, consented: true, tdd: true },
    baseline: null,
    ...{ existing: 'resume', headless: false, launched: false, clientVersion: null, bundleDir: '/bundle' },
  };
  const approved = preparedTerms(prepareContract(request), requireList(files, AT));
  swapList(project);
  assert.throws(
    () => startNow({ ...request, approval: { terms: approved, by: PERSON } }),
    /changed after you were shown/,
  );
  assert.equal(peekTdd(files)?.consented, false);
  assert.equal(stateOf(project).status, 'awaiting-consent');
  const shownAgain = preparedTerms(prepareContract(request), requireList(files, AT));
  assert.equal(
    startNow({ ...request, approval: { terms: shownAgain, by: PERSON } }).state.status,
    'running',
    'control',
  );
});

test('concurrent calls for one step are both answered by the one recorded run', async (t) => {
  const { project } = aTddLoop(t, {}, aList(1));
  const { files, env } = project;
  keep(project, (record) => after(record, 'sc-001 red'));
  const { signal } = new AbortController();
  const request = { phase: 'green', id: null, again: false, env, signal, now: () => AT } as const;
  const answers = await Promise.all([provePhase(files, request), provePhase(files, { ...request, id: 'sc-001' })]);
  assert.deepEqual(
    answers.map(({ ok, problem }) => [ok, problem]),
    [
      [true, null],
      [true, null],
    ],
  );
  assert.deepEqual(answers.map(({ ran }) => ran).sort(), [false, true]);
  assert.deepEqual(
    peekTdd(files)?.log.map(({ phase }) => phase),
    ['red', 'green'],
  );
});

test('runs nothing while the guardrails cannot be read', async (t) => {
  const { project } = aTddLoop(t);
  writeFileSync(project.files.contract, '{');
  const { signal } = new AbortController();
  const request = { phase: 'red', id: null, again: false, env: project.env, signal, now: () => AT } as const;
  await assert.rejects(() => provePhase(project.files, request), /cannot be read/);
});

test('a state that was forged during the loop is reported in the next prompt', async (t) => {
  const { project } = aTddLoop(t);
  await aStop(project, {}, { RALPH_ACTIVE: '1' });
  const { state } = tddFiles(project.files);
  const forged = JSON.parse(readFileSync(state, 'utf8')) as { scenarios: { status: string }[] };
  for (const scenario of forged.scenarios) scenario.status = 'green';
  writeFileSync(state, JSON.stringify(forged));
  const answer = await aStop(project, { last_assistant_message: 'Work.' }, { RALPH_ACTIVE: '1' });
  assert.match(answer?.reason ?? '', /claimed proofs that do not exist, so it was moved to/);
});
