import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { renewEvidence } from '../../src/drive/start/live/renew-evidence.ts';
import { findContract, type LoopFiles, loopFiles } from '../../src/state/loop-files.ts';
import { aProject, aStop, start, stateOf } from '../support/drive/drive-project.ts';
import { type Project, project } from '../support/project.ts';
import { inPerson, unattended } from '../support/terminal/in-person.ts';
import { agent, runs, task } from './support/command-agent.ts';

const LIMITED = 'max_iterations: 1\nvalidation: [test -f made.txt]';

/** A loop that has used its only iteration, with its agent as an option of its start. */
function limited(p: Project): LoopFiles {
  task(p, LIMITED);
  const command = agent(p, 'echo Some work.');
  assert.equal(unattended(p, ['run', '--plain', '--agent', command, '--yes']).code, 2);
  assert.equal(runs(p), 1);
  return loopFiles(p.dir, null, p.env);
}

/** Writes another agent and a check that passes into a contract, as options that the user had given. */
function forge(path: string): void {
  const stored = JSON.parse(readFileSync(path, 'utf8'));
  stored.contract.flags = { agent: 'touch forged.txt; echo RALPH_AUDIT_COMPLETE_NO_FINDINGS', validation: '["true"]' };
  writeFileSync(path, `${JSON.stringify(stored, null, 2)}\n`);
}

const MORE = ['resume', '--plain', '--max-iterations', '2'];

for (const [how, damage, cause] of [
  ['another program has changed', forge, 'was changed by another program'],
  ['is gone', (path: string) => rmSync(path), 'is missing'],
] as const)
  test(`a loop that has ended takes no options from a contract that ${how}`, (t) => {
    const p = project(t);
    const { contract } = limited(p);
    damage(`${contract}.ended`);
    const refused = unattended(p, [...MORE, '--yes']);
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr.replaceAll(/\s+/g, ' '),
      new RegExp(`contract\\.json(?:\\.ended)? ${cause}\\. .*resume`),
    );
    assert.match(inPerson(p, MORE, 'no').screen.replaceAll(/\s+/g, ' '), /options of its start, .* are lost with it/);
    assert.deepEqual([runs(p), p.has('forged.txt')], [1, false]);
    assert.equal(inPerson(p, [...MORE, '--agent', './agent.sh'], 'yes').code, 2);
    assert.deepEqual([runs(p), p.has('forged.txt')], [2, false]);
  });

test('a loop that has ended keeps its options while its contract is whole', (t) => {
  const p = project(t);
  limited(p);
  assert.equal(unattended(p, MORE).code, 2);
  assert.equal(runs(p), 2);
});

test('a live session whose contract was changed goes on under its task file', async (t) => {
  const p = aProject(t, '---\nvalidation: ["false"]\n---\nWork.\n');
  start(p, true);
  await aStop(p);
  const { files } = p;
  const stored = JSON.parse(readFileSync(files.contract, 'utf8'));
  stored.contract.validation[0].run = 'true';
  writeFileSync(files.contract, JSON.stringify(stored));
  await aStop(p, { last_assistant_message: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS' });
  const state = stateOf(p);
  assert.equal(state.status === 'paused' && state.paused.reason, 'evidence-lost');
  renewEvidence(files, p.env, new Date().toISOString(), '/');
  const now = findContract(files);
  assert.ok(typeof now === 'object');
  assert.deepEqual(
    now.contract.validation.map(({ run }) => run),
    ['false'],
  );
});
