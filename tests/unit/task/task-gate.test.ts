import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Contract } from '../../../src/engine/schema/contract.ts';
import { runGate } from '../../../src/task/commands/gate.ts';
import type { TaskCommandOptions } from '../../../src/task/commands/run-pinned-command.ts';
import { outputsNow } from '../../../src/task/outputs/check-task-outputs.ts';
import { buildContract } from '../../../src/task/settings/build-contract.ts';
import { ENV } from '../../support/environment.ts';
import { folderWith, writeFiles } from '../../support/folder.ts';
import { taskTerms } from './support/task-terms.ts';

const READY = { 'tasks/one/RALPH.md': '', 'tasks/one/OPEN_QUESTIONS.md': '## P0\n\n## P1\n' };
const ACCEPTED = { name: 'tests', run: 'touch ran', acceptance: true };

function contractOf(
  directory: string,
  ...more: Parameters<typeof taskTerms> extends [string, ...infer Rest] ? Rest : never
): Contract {
  return buildContract(taskTerms(directory, ...more)).contract;
}

function gate(contract: Contract, directory: string, more: Partial<Parameters<typeof runGate>[2]> = {}) {
  return runGate(contract, directory, {
    signal: new AbortController().signal,
    env: ENV,
    iteration: 1,
    ...more,
  });
}

async function outcomes(contract: Contract, directory: string, more: Partial<TaskCommandOptions> = {}) {
  return (await gate(contract, directory, more)).map(({ name, outcome }) => `${name}: ${outcome}`);
}

test('a required gate that is ready says what it found, and runs the acceptance commands again', async (context) => {
  const directory = folderWith(context, { ...READY, 'tasks/one/FIXES.md': 'a' });
  const commands = [ACCEPTED, { name: 'stats', run: 'touch stats' }];
  const contract = contractOf(directory, { commands, requiredOutputs: ['FIXES.md'] });
  assert.deepEqual(await gate(contract, directory), [
    { name: 'required output FIXES.md', outcome: 'ok', detail: 'it exists.' },
    { name: 'OPEN_QUESTIONS.md', outcome: 'ok', detail: 'nothing is open under P0 and P1.', refutesOnly: true },
    { name: 'tests', outcome: 'ok', detail: 'exit code 0.' },
  ]);
  assert.equal(existsSync(join(directory, 'stats')), false, 'mere evidence is not run again');
});

test('an output that a check removes and a question that comes meanwhile hold the claim', async (context) => {
  const directory = folderWith(context, { ...READY, 'tasks/one/FIXES.md': 'a' });
  const run = 'cd tasks/one; mv FIXES.md old; echo "- [ ] Why?" >> OPEN_QUESTIONS.md';
  const contract = contractOf(directory, { commands: [{ ...ACCEPTED, run }], requiredOutputs: ['FIXES.md'] });
  const held = ['required output FIXES.md: failed', 'OPEN_QUESTIONS.md: failed', 'tests: ok'];
  assert.deepEqual(await outcomes(contract, directory), held);
});

test('names a missing output and missing questions, and runs nothing', async (context) => {
  const directory = folderWith(context, { 'tasks/one/RALPH.md': '' });
  const contract = contractOf(directory, { commands: [ACCEPTED], requiredOutputs: ['out/FIXES.md'] });
  assert.deepEqual(await gate(contract, directory), [
    {
      name: 'required output out/FIXES.md',
      outcome: 'failed',
      detail: 'missing; create it as tasks/one/out/FIXES.md.',
    },
    {
      name: 'OPEN_QUESTIONS.md',
      outcome: 'failed',
      detail: 'missing; create it as tasks/one/OPEN_QUESTIONS.md. An empty list of open questions is fine.',
      refutesOnly: true,
    },
  ]);
  assert.equal(existsSync(join(directory, 'ran')), false);
});

test('an empty OPEN_QUESTIONS.md is ready', async (context) => {
  const directory = folderWith(context, { 'tasks/one/OPEN_QUESTIONS.md': '' });
  assert.deepEqual(await outcomes(contractOf(directory), directory), ['OPEN_QUESTIONS.md: ok']);
});

test('shows open questions with their lines, and runs nothing', async (context) => {
  const directory = folderWith(context, {
    ...READY,
    'tasks/one/OPEN_QUESTIONS.md': `## P0\n- [x] a\n- [ ] Which store?\n## P1\n- ${'y'.repeat(300)}\n${'- more\n'.repeat(20)}`,
  });
  const [result, ...others] = await gate(contractOf(directory, { commands: [ACCEPTED] }), directory);
  assert.deepEqual(others, []);
  assert.equal(result?.outcome, 'failed');
  const lines = result?.detail.split('\n') ?? [];
  assert.equal(lines[0], '22 open. Answer each, behind it or below it, and check it off as "- [x]".');
  assert.equal(lines[1], 'P0, line 3: Which store?');
  assert.equal(lines[2], `P1, line 5: ${'y'.repeat(120)}…`);
  assert.equal(lines.at(-1), 'and 2 more');
  assert.equal(existsSync(join(directory, 'ran')), false);
});

test('an output has to be a regular file inside the task folder', async (context) => {
  const directory = folderWith(context, { ...READY, 'tasks/one/real.md': 'a', 'outside.md': 'a' });
  const folder = join(directory, 'tasks/one');
  mkdirSync(join(folder, 'folder.md'));
  symlinkSync('real.md', join(folder, 'inside.md'));
  symlinkSync('../../outside.md', join(folder, 'escape.md'));
  symlinkSync('nowhere', join(folder, 'dangling.md'));
  symlinkSync('../..', join(folder, 'up'));
  execFileSync('mkfifo', [join(folder, 'pipe.md')]);
  const requiredOutputs = ['real.md', 'inside.md', 'folder.md', 'escape.md', 'dangling.md', 'pipe.md', 'up/outside.md'];
  const results = await gate(contractOf(directory, { requiredOutputs }), directory);
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    ['ok', 'ok', 'failed', 'failed', 'failed', 'failed', 'failed', 'ok'],
  );
  assert.equal(
    results[3]?.detail,
    'tasks/one/escape.md is not a regular file in the task folder: replace it with one.',
  );
});

test('does not read questions that link out of the task folder or are endless', async (context) => {
  const directory = folderWith(context, { 'tasks/one/RALPH.md': '', 'ready.md': '' });
  const path = join(directory, 'tasks/one/OPEN_QUESTIONS.md');
  const contract = contractOf(directory);
  symlinkSync('../../ready.md', path);
  assert.deepEqual(await outcomes(contract, directory), ['OPEN_QUESTIONS.md: failed']);
  rmSync(path);
  execFileSync('mkfifo', [path]);
  assert.deepEqual(await outcomes(contract, directory), ['OPEN_QUESTIONS.md: failed']);
  rmSync(path);
  writeFileSync(path, 'x'.repeat(2 * 1024 * 1024));
  assert.deepEqual(await outcomes(contract, directory), ['OPEN_QUESTIONS.md: unavailable']);
});

test('the rolling memory is not a required output', async (context) => {
  const directory = folderWith(context, READY);
  const contract = contractOf(directory, { requiredOutputs: ['RALPH_PROGRESS.md'] });
  assert.deepEqual(await outcomes(contract, directory), ['OPEN_QUESTIONS.md: ok']);
});

test('an acceptance command rejects in every way that it can fail', async (context) => {
  const directory = folderWith(context, READY);
  const commands = [
    { name: 'fails', run: 'exit 1', acceptance: true },
    { name: 'vacuous', run: 'echo "No tests found, exiting with code 0"', acceptance: true },
    { name: 'slow', run: 'sleep 300', timeoutSeconds: 1, acceptance: true },
    { name: 'blocked', run: 'git push', acceptance: true },
  ];
  const blockingRule = async (run: string): Promise<string | null> => (run === 'git push' ? 'git\\s+push' : null);
  const results = await gate(contractOf(directory, { commands }), directory, { blockingRule });
  assert.deepEqual(
    results.map(({ name, outcome }) => `${name}: ${outcome}`),
    ['OPEN_QUESTIONS.md: ok', 'fails: failed', 'vacuous: vacuous', 'slow: timeout', 'blocked: unavailable'],
  );
  assert.equal(results.at(-1)?.detail, 'it was not run, since a guardrail blocks it: git\\s+push');
});

test('an acceptance command runs where the contract says, with the number of its iteration', async (context) => {
  const directory = folderWith(context, { ...READY, 'tasks/one/check.sh': '#!/bin/sh\necho "$PWD $1"; exit 1\n' });
  const commands = [{ run: './check.sh {{ ralph.iteration }}', directory: 'task' as const, acceptance: true }];
  const [, result] = await gate(contractOf(directory, { commands }), directory, { iteration: 4 });
  assert.equal(result?.detail, `exit code 1.\n${directory}/tasks/one 4`);
});

test('does not run an acceptance command whose script changed', async (context) => {
  const directory = folderWith(context, { ...READY, 'tasks/one/check.sh': '#!/bin/sh\nexit 1\n' });
  const commands = [{ run: './check.sh', directory: 'task' as const, acceptance: true }];
  const contract = contractOf(directory, { commands });
  writeFiles(directory, { 'tasks/one/check.sh': '#!/bin/sh\nexit 0\n' });
  assert.deepEqual(await outcomes(contract, directory), ['OPEN_QUESTIONS.md: ok', 'check: changed']);
});

test('a script that only evidence names may change without affecting the gate', async (context) => {
  const directory = folderWith(context, { ...READY, 'tasks/one/stats.sh': '#!/bin/sh\n' });
  const commands = [ACCEPTED, { name: 'stats', run: './stats.sh', directory: 'task' as const }];
  const contract = contractOf(directory, { commands });
  writeFiles(directory, { 'tasks/one/stats.sh': '#!/bin/sh\necho more\n' });
  assert.deepEqual(await outcomes(contract, directory), ['OPEN_QUESTIONS.md: ok', 'tests: ok']);
});

test('validation also runs, whether the folder is ready or not', async (context) => {
  const directory = folderWith(context, { 'tasks/one/RALPH.md': '' });
  const { contract } = buildContract({ ...taskTerms(directory, { commands: [ACCEPTED] }), validation: ['true'] });
  const [questions, validation, ...others] = await gate(contract, directory);
  assert.deepEqual([questions?.outcome, validation?.outcome, others.length], ['failed', 'ok', 0]);
});

test('an open finding prevents acceptance commands from running', async (context) => {
  const directory = folderWith(context, { ...READY, '.ralph/findings.md': '### FINDING-001: x\nStatus: OPEN\n' });
  const contract = contractOf(directory, { commands: [ACCEPTED] });
  assert.deepEqual(await outcomes(contract, directory), ['OPEN_QUESTIONS.md: ok', 'findings log: failed']);
  assert.equal(existsSync(join(directory, 'ran')), false);
});

for (const mode of ['optional', 'disabled'] as const) {
  test(`with a gate that is ${mode} the promise is enough, but validation still applies`, async (context) => {
    const directory = folderWith(context, { 'tasks/one/RALPH.md': '', 'stats.sh': '#!/bin/sh\n' });
    const task = {
      commands: [ACCEPTED, { name: 'stats', run: './stats.sh' }],
      requiredOutputs: ['FIXES.md'],
      gate: mode,
    };
    const contract = contractOf(directory, task);
    rmSync(join(directory, 'stats.sh'));
    assert.deepEqual(await gate(contract, directory), []);
    const validated = buildContract({ ...taskTerms(directory, task), validation: ['exit 1'] }).contract;
    assert.deepEqual(await outcomes(validated, directory), ['exit 1: failed']);
    assert.equal(existsSync(join(directory, 'ran')), false);
  });
}

test('an abort during an acceptance command rejects', async (context: TestContext) => {
  const directory = folderWith(context, READY);
  const contract = contractOf(directory, { commands: [{ run: 'sleep 300', acceptance: true }] });
  await assert.rejects(gate(contract, directory, { signal: AbortSignal.timeout(200) }), { name: 'TimeoutError' });
});

test('the gate of a prompt file looks in the project, and needs no OPEN_QUESTIONS.md', async (context) => {
  const directory = folderWith(context, { 'REPORT.md': 'a', 'check.sh': 'exit 0\n' });
  const run = [{ name: 'check', run: './check.sh', acceptance: true, directory: 'task' as const }];
  const terms = { commands: run, requiredOutputs: ['REPORT.md'], openQuestions: 'optional' as const };
  const contract = contractOf(directory, terms, { taskPath: '.claude/ralph/PROMPT.md' });
  execFileSync('chmod', ['+x', join(directory, 'check.sh')]);
  assert.deepEqual(await outcomes(contract, directory), ['required output REPORT.md: ok', 'check: ok']);
  writeFiles(directory, { 'OPEN_QUESTIONS.md': '## P0\n- which one?\n' });
  assert.deepEqual(await outcomes(contract, directory), ['required output REPORT.md: ok', 'OPEN_QUESTIONS.md: failed']);
});

test('refuses a promise in a prompt file while OPEN_QUESTIONS.md has open items, but not a signal', async (context) => {
  const directory = folderWith(context, { 'OPEN_QUESTIONS.md': '## P0\n- which one?\n' });
  const of = (completion: Contract['policy']['completion']): Contract => {
    const contract = contractOf(directory, {}, { taskPath: '.claude/ralph/PROMPT.md', task: null });
    return { ...contract, policy: { ...contract.policy, completion } };
  };
  assert.deepEqual(await outcomes(of({ kind: 'promise', text: 'DONE' }), directory), ['OPEN_QUESTIONS.md: failed']);
  assert.deepEqual(await outcomes(of({ kind: 'signal', text: 'DONE' }), directory), []);
  rmSync(join(directory, 'OPEN_QUESTIONS.md'));
  assert.deepEqual(await outcomes(of({ kind: 'promise', text: 'DONE' }), directory), []);
});

test('an output is a file with text, or a folder that holds one', async (context) => {
  const directory = folderWith(context, {
    ...READY,
    ...{ 'tasks/one/empty.md': '', 'tasks/one/blank.md': ' \n\t\n', 'tasks/one/none/.gitkeep': '' },
    ...{ 'tasks/one/some/.gitkeep': '', 'tasks/one/some/deep/a.txt': 'a', 'outside/a.txt': 'a' },
  });
  const folder = join(directory, 'tasks/one');
  mkdirSync(join(folder, 'linked'));
  symlinkSync('../../../outside/a.txt', join(folder, 'linked/a.txt'));
  symlinkSync('../../outside', join(folder, 'away'));
  const requiredOutputs = ['empty.md', 'blank.md', 'none', 'some', 'linked', 'away'];
  const results = await gate(contractOf(directory, { requiredOutputs }), directory);
  assert.deepEqual(
    results.slice(0, -1).map(({ outcome, detail }) => `${outcome}: ${detail}`),
    [
      ...['failed: tasks/one/empty.md is empty.', 'failed: tasks/one/blank.md is empty.'],
      ...['failed: tasks/one/none is empty.', 'ok: it exists.', 'failed: tasks/one/linked is empty.'],
      'failed: tasks/one/away is not a regular file in the task folder: replace it with one.',
    ],
  );
});

test('an output that is as it was before the start is named as such', async (context) => {
  const outputs = ['A.md', 'B.md', 'C', 'D.md'];
  const directory = folderWith(context, {
    ...READY,
    ...{ 'tasks/one/A.md': 'a', 'tasks/one/B.md': 'b', 'tasks/one/C/c.txt': 'c' },
  });
  const contract = contractOf(directory, { requiredOutputs: outputs });
  const seen = {
    ...{ loopId: 'l', items: [], findings: [], questions: [] },
    outputs: outputsNow(directory, contract.taskPath, outputs),
  };
  writeFiles(directory, { 'tasks/one/B.md': 'B', 'tasks/one/D.md': 'd' });
  const said = async () => (await gate(contract, directory, { seen })).slice(0, -1).map(({ detail }) => detail);
  const before = 'it is as it was before the start.';
  assert.deepEqual(await said(), [before, 'it exists.', before, 'it exists.']);
  writeFiles(directory, { 'tasks/one/C/d.txt': 'd' });
  assert.deepEqual(await said(), [before, 'it exists.', 'it exists.', 'it exists.']);
});
