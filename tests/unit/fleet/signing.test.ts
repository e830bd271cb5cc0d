import assert from 'node:assert/strict';
import { test } from 'node:test';
import { envelopeOf, FleetKey, repositoryId, type Submission } from '../../../src/fleet/job.ts';
import { aSubmission } from '../../support/fleet/submission.ts';

const key = new FleetKey('k'.repeat(32));

test('refuses a short or missing key', () => {
  assert.throws(() => new FleetKey(undefined), /RALPH_FLEET_KEY is missing/);
  assert.throws(() => new FleetKey('k'.repeat(31)), /shorter than 32/);
});

test('recognises a sealed submission whatever the order of its keys', () => {
  const { submission, signature } = key.seal(aSubmission());
  const turned = Object.fromEntries(Object.entries(submission).reverse()) as Submission;
  assert.equal(key.hasSealed({ submission: turned, signature }), true);
});

test('no field of a submission can be changed', () => {
  const sealed = key.seal(aSubmission());
  for (const name of Object.keys(sealed.submission)) {
    const changed = { ...sealed.submission, [name]: 'other' } as unknown as Submission;
    assert.equal(key.hasSealed({ ...sealed, submission: changed }), false, name);
  }
  const { contract } = sealed.submission;
  const submission = { ...sealed.submission, contract: { ...contract, flags: { agent: './evil.sh' } } };
  assert.equal(key.hasSealed({ ...sealed, submission }), false);
});

test('another key cannot seal or sign', () => {
  const other = new FleetKey('o'.repeat(32));
  assert.equal(key.hasSealed(other.seal(aSubmission())), false);
  assert.notEqual(key.fingerprint, other.fingerprint);
});

test('a signature of a command covers id, kind, text, loop and generation', () => {
  const command = { id: 'i', kind: 'steer', text: 't', loop: 'l', generation: 1 };
  const signature = key.signCommand(command);
  assert.equal(key.hasSignedCommand(command, signature), true);
  for (const change of [{ id: 'j' }, { kind: 'cancel' }, { text: 'u' }, { loop: 'm' }, { generation: 2 }]) {
    assert.equal(key.hasSignedCommand({ ...command, ...change }, signature), false, JSON.stringify(change));
  }
  assert.equal(key.hasSignedCommand(command, ''), false);
});

test('a submission can name only its own branch, reference and repository', () => {
  const sealed = key.seal(aSubmission());
  assert.notEqual(envelopeOf(sealed), null);
  const { submission } = sealed;
  const others = [
    { branch: 'ralph/other-0123456789' },
    { checkpointRef: 'refs/ralph/other-0123456789' },
    { repository: { id: repositoryId('/other'), url: submission.repository.url } },
    { loopId: '../../x-0123456789' },
    { task: { ...submission.task, digest: 'x' } },
    { unknown: true },
  ];
  for (const other of others) {
    assert.equal(envelopeOf({ ...sealed, submission: { ...submission, ...other } }), null, JSON.stringify(other));
  }
});

test('refuses a submission above 256 KiB', () => {
  const large = aSubmission();
  const terms: [string, string][] = [['validation', 'x'.repeat(300_000)]];
  assert.equal(envelopeOf(key.seal({ ...large, contract: { ...large.contract, terms } })), null);
});
