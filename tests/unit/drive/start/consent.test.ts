import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { acceptContract, changedContract } from '../../../../src/drive/start/live/accept-contract.ts';
import { giveConsent, pendingTerms } from '../../../../src/drive/start/live/consent.ts';
import { consentDigest } from '../../../../src/drive/start/terms/consent-terms.ts';
import { writeContract } from '../../../../src/state/evidence/store-evidence.ts';
import { hashContract } from '../../../../src/state/hash-contract.ts';
import { readContract } from '../../../../src/state/loop-files.ts';
import { RalphError } from '../../../../src/text/message.ts';
import {
  AT,
  aProject,
  aStop,
  PERSON,
  type Project,
  put,
  rewrite,
  start,
  stateOf,
  UNASKED,
} from '../../../support/drive/drive-project.ts';

const FOUR_KEYS = { iteration: 1, startedAt: AT, lastRunAt: AT, lastFindingsCount: null };

/** A loop that an agent asked for, bound to session-1. */
function askedFor(t: TestContext): Project {
  const project = aProject(t);
  start(project, false);
  rewrite(project, { sessionId: 'session-1' });
  return project;
}

function contractOf({ files }: Project): NonNullable<ReturnType<typeof readContract>> {
  const stored = readContract(files);
  assert.ok(stored !== null);
  return stored;
}

/** Status of the state, consent of the contract, and whether each is the other's. */
function agreement(project: Project): [string, boolean, boolean] {
  const { hash, contract } = contractOf(project);
  const { status, contractHash } = stateOf(project);
  return [status, contract.consented, contractHash === hash && hash === hashContract(contract)];
}

test('A loop that an agent asks for awaits consent in state and contract; one of the user does not.', (t) => {
  assert.deepEqual(agreement(askedFor(t)), ['awaiting-consent', false, true]);
  const project = aProject(t);
  start(project, true);
  assert.deepEqual(agreement(project), ['running', true, true]);
});

test('Consent is recorded in contract and state, and the loop continues at its next Stop.', async (t) => {
  const project = askedFor(t);
  assert.match((await aStop(project))?.systemMessage ?? '', /awaits your consent/);
  assert.equal(
    giveConsent(project.files, project.env, AT, pendingTerms(project.files), UNASKED).after.status,
    'running',
  );
  assert.deepEqual(agreement(project), ['running', true, true]);
  giveConsent(project.files, project.env, AT, pendingTerms(project.files), UNASKED);
  assert.deepEqual(agreement(project), ['running', true, true]);
  assert.equal((await aStop(project))?.decision, 'block');
});

for (const [what, change] of [
  ['says that it runs', { status: 'running' }],
  ['says that it runs under more iterations', { status: 'running', maxIterations: 99 }],
  [
    'says that it was paused',
    { status: 'paused', paused: { since: AT, reason: 'operator', message: '', resumesAt: null } },
  ],
] as const) {
  test(`A loop without consent whose state ${what} awaits consent again.`, async (t) => {
    const project = askedFor(t);
    rewrite(project, change);
    const answer = await aStop(project);
    assert.equal(answer?.decision, undefined);
    assert.match(answer?.systemMessage ?? '', /was changed by another program.*awaits your consent/s);
    assert.deepEqual(agreement(project), ['awaiting-consent', false, true]);
  });
}

test("Control: the same state is believed where the contract records the user's consent.", async (t) => {
  const project = aProject(t);
  start(project, true);
  rewrite(project, { sessionId: 'session-1', status: 'running' });
  const answer = await aStop(project);
  assert.deepEqual([answer?.decision, /rewritten/.test(answer?.systemMessage ?? '')], ['block', false]);
});

test('A loop without consent that was reduced to four keys awaits consent again.', async (t) => {
  const project = askedFor(t);
  put(project.files.state, JSON.stringify(FOUR_KEYS));
  assert.equal((await aStop(project))?.decision, undefined);
  assert.deepEqual(agreement(project), ['awaiting-consent', false, true]);
});

test('A loop without consent that the user cancels has ended and is not restored.', async (t) => {
  const project = askedFor(t);
  const ended = { status: 'ended', ended: { at: AT, as: 'cancelled', message: 'cancelled', verified: false } };
  rewrite(project, ended);
  assert.deepEqual(await aStop(project), { systemMessage: 'ralph-loop: cancelled' });
  assert.equal(readContract(project.files), null);
});

test('A crash between contract and state loses no consent: the next Stop or consent completes it.', async (t) => {
  for (const again of [false, true]) {
    const project = askedFor(t);
    const before = readFileSync(project.files.state, 'utf8');
    giveConsent(project.files, project.env, AT, pendingTerms(project.files), UNASKED);
    put(project.files.state, before);
    assert.deepEqual(agreement(project), ['awaiting-consent', true, false]);
    if (again) giveConsent(project.files, project.env, AT, pendingTerms(project.files), UNASKED);
    assert.equal((await aStop(project))?.decision, 'block');
    assert.deepEqual(agreement(project), ['running', true, true]);
  }
});

test('Consent is refused for a missing contract and for one that does not match its hash.', (t) => {
  const project = askedFor(t);
  const stored = contractOf(project);
  const changed = {
    ...stored,
    contract: { ...stored.contract, validation: [{ name: 'x', run: 'x', timeoutSeconds: 1 }] },
  };
  const refused = (code: string): void => {
    const consent = (): unknown => giveConsent(project.files, project.env, AT, pendingTerms(project.files), UNASKED);
    assert.throws(consent, (error) => error instanceof RalphError && error.code === code);
    assert.equal(stateOf(project).status, 'awaiting-consent');
  };
  writeContract(project.files, changed);
  refused('contract-changed');
  assert.deepEqual(contractOf(project), changed);
  rmSync(project.files.contract);
  refused('contract-missing');
});

test('Accepting a changed task is not consent to the loop.', (t) => {
  const project = askedFor(t);
  put(join(project.directory, '.claude', 'ralph', 'PROMPT.md'), '---\nmax_iterations: 7\n---\nDo the work.\n');
  acceptContract(project.files, project.env, AT, changedContract(project.files, project.env), PERSON);
  assert.deepEqual(agreement(project), ['awaiting-consent', false, true]);
  assert.equal(stateOf(project).maxIterations, 7);
});

test('A user who starts or resumes a loop that an agent asked for consents to it.', (t) => {
  for (const existing of ['refuse', 'resume'] as const) {
    const project = aProject(t);
    start(project, false);
    start(project, true, existing);
    assert.deepEqual(agreement(project), ['running', true, true]);
  }
});

test('An agent that resumes a loop of the user has to ask, because it brings its own contract.', (t) => {
  const project = aProject(t);
  start(project, true);
  rewrite(project, { iteration: 3 });
  start(project, false, 'resume');
  assert.deepEqual(agreement(project), ['awaiting-consent', false, true]);
  assert.equal(stateOf(project).iteration, 3);
});

test("An agent's request is stored with its digest, which the approval names and the contract records.", (t) => {
  const project = askedFor(t);
  const asked = contractOf(project).contract.consentDigest;
  const terms = pendingTerms(project.files);
  assert.equal(asked, consentDigest(terms));
  giveConsent(project.files, project.env, AT, terms, UNASKED);
  assert.equal(contractOf(project).contract.consentDigest, asked);
});

test('The digest of the same loop is the same at any time and under any id.', (t) => {
  const digests = [aProject(t), aProject(t)].map((project) => {
    start(project, false);
    return contractOf(project).contract.consentDigest;
  });
  assert.equal(digests[0], digests[1]);
  const other = aProject(t, '---\nvalidation: [make test]\n---\nDo the work.\n');
  start(other, false);
  assert.notEqual(contractOf(other).contract.consentDigest, digests[0], 'control');
});

test('Approval of something that has changed is refused with the changes, and nothing is recorded.', (t) => {
  const project = aProject(t, '---\nvalidation: [make test]\n---\nDo the work.\n');
  start(project, false);
  const shown = pendingTerms(project.files);
  put(
    join(project.directory, '.claude', 'ralph', 'PROMPT.md'),
    '---\nvalidation: [rm -rf build]\nmax_iterations: 99\n---\nDo the work.\n',
  );
  start(project, false, 'fresh');
  assert.throws(
    () => giveConsent(project.files, project.env, AT, shown, UNASKED),
    /validation: make test \(\d+ s\) -> rm -rf build \(\d+ s\)\n {2}max_iterations: 25 -> 99/,
  );
  assert.equal(stateOf(project).status, 'awaiting-consent');
  assert.equal(contractOf(project).contract.consented, false);
});

test('Adopts exactly the change that was shown; a later one is refused with what changed.', (t) => {
  const project = aProject(t);
  start(project, true);
  const task = join(project.directory, '.claude', 'ralph', 'PROMPT.md');
  put(task, '---\nvalidation: [make test]\npermission_mode: plan\n---\nDo the work.\n');
  const shown = changedContract(project.files, project.env);
  const { changes } = shown;
  assert.equal(changes[0], '+ permission_mode: plan');
  assert.match(changes[1] ?? '', /^\+ validation: make test \(\d+ s\)$/);
  put(task, '---\nvalidation: [touch pwned]\n---\nDo the work.\n');
  assert.throws(() => acceptContract(project.files, project.env, AT, shown, PERSON), /-> touch pwned/);
  assert.deepEqual(contractOf(project).contract.validation, []);
});
