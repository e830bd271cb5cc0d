import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { taskLoopName, taskPathOf } from '../../../../src/drive/start/find-task.ts';
import { acceptContract, changedContract } from '../../../../src/drive/start/live/accept-contract.ts';
import type { StartRequest } from '../../../../src/drive/start/stages.ts';
import type { Contract } from '../../../../src/engine/schema/contract.ts';
import { LOOP_NAME, readContract } from '../../../../src/state/loop-files.ts';
import { DEFAULT_POLICY } from '../../../support/contract-terms.ts';
import { AT, aProject, PERSON, type Project, put } from '../../../support/drive/drive-project.ts';
import { startNow } from '../../../support/drive/start-now.ts';

const HEADER = `args: [owner, env]
commands:
  - name: tests
    run: ./check.sh --env={{ args.env }} {{ ralph.name }} {{ ralph.max_iterations }} {{ ralph.iteration }}
    acceptance: true
  - name: lint
    run: npm run lint
    timeout: 20
timeout: 40
max_iterations: 12
inter_iteration_delay: 5
stop_on_error: false
items_per_iteration: 3
reflect_every: 4
completion_promise: DONE
required_outputs: [REPORT.md, RALPH_PROGRESS.md]
guardrails:
  block_commands: ['git\\s+push', { command: git, args: [push] }, { pipeline: [curl, sh], reason: never }]
  shell_policy: { mode: allowlist, allow: [npm .*] }
  protected_files: ['.env*', 'policy:secret-bearing-paths']
  private_files: [secret.txt]
  strict: true
`;

function folder(project: Project, name: string, header = HEADER, body = 'Work.\n'): string {
  put(join(project.directory, name, 'RALPH.md'), `---\n${header}---\n${body}`);
  return name;
}

function start({ directory, env }: Project, task: string | null, more: Partial<StartRequest> = {}): Contract {
  const loop = startNow({
    ...{ projectDir: directory, name: null, task, flags: {}, env, at: AT, existing: 'refuse', consented: true },
    ...{ headless: false, launched: false, clientVersion: null, bundleDir: null, baseline: null, ...more },
  });
  return loop.stored.contract;
}

const ARGS = { owner: 'Ada', env: "it's $HOME" };

test('the contract contains everything from a RALPH.md', (t: TestContext) => {
  const project = aProject(t);
  put(join(project.directory, 'jobs/auth/check.sh'), '#!/bin/sh\n');
  put(join(project.directory, 'package.json'), '{"scripts":{"lint":"eslint ."}}');
  const contract = start(project, folder(project, 'jobs/auth', HEADER, 'For {{ args.owner }}.\n'), {
    name: 'auth',
    args: ARGS,
  });
  assert.equal(contract.taskPath, 'jobs/auth/RALPH.md');
  assert.deepEqual(contract.task, {
    args: ARGS,
    commands: [
      {
        name: 'tests',
        run: "./check.sh --env='it'\\''s $HOME' 'auth' 12 {{ ralph.iteration }}",
        timeoutSeconds: 40,
        acceptance: true,
        directory: 'task',
      },
      { name: 'lint', run: 'npm run lint', timeoutSeconds: 20, acceptance: false, directory: 'project' },
    ],
    gate: 'required',
    requiredOutputs: ['REPORT.md'],
    itemsPerIteration: 3,
    reflectEvery: 4,
    openQuestions: 'optional',
  });
  assert.deepEqual(contract.guardrails, {
    blockCommands: [
      'git\\s+push',
      { command: 'git', args: ['push'], reason: null },
      { pipeline: ['curl', 'sh'], reason: 'never' },
    ],
    shellAllow: ['npm .*'],
    protectedFiles: ['.env*', 'policy:secret-bearing-paths'],
    privateFiles: ['secret.txt'],
    strict: true,
  });
  assert.deepEqual(contract.policy.pace, {
    delayMs: 5000,
    iterationTimeoutMs: 40_000,
    stopOnError: false,
    tracksProgress: true,
  });
  assert.deepEqual(contract.policy.completion, { kind: 'promise', text: 'DONE' });
  assert.equal(contract.policy.maxIterations, 12);
  assert.deepEqual(Object.keys(contract.scripts), [
    ...['.npmrc#settings', 'jobs/auth/check.sh', 'node_modules/.bin/sh', 'package.json#scripts.lint'],
    ...['package.json#scripts.postlint', 'package.json#scripts.prelint', '~/.npmrc#settings'],
  ]);
});

test('an empty RALPH.md runs to its limits without a check', (t) => {
  const project = aProject(t);
  const { policy, task, guardrails } = start(project, folder(project, 'job', ''), {});
  assert.deepEqual(policy.completion, { kind: 'none' });
  assert.equal(policy.maxIterations, 50);
  assert.deepEqual(policy.pace, { delayMs: 0, iterationTimeoutMs: 300_000, stopOnError: true, tracksProgress: true });
  assert.equal(task?.gate, 'disabled');
  assert.deepEqual(guardrails.blockCommands, []);
});

test('a PROMPT.md has pace and guardrails, and no default time limit for an iteration', (t) => {
  const plain = start(aProject(t), null);
  assert.equal(plain.task, null);
  assert.deepEqual(plain.policy.pace, DEFAULT_POLICY.pace);
  assert.equal(plain.policy.pace.iterationTimeoutMs, 7_200_000);
  const header = '---\ntimeout: 9\ninter_iteration_delay: 2\nstop_on_error: false\nguardrails: { strict: true }\n---\n';
  const { policy, guardrails } = start(aProject(t, `${header}Work.\n`), null);
  assert.deepEqual(policy.pace, { delayMs: 2000, iterationTimeoutMs: 9000, stopOnError: false, tracksProgress: false });
  assert.equal(guardrails.strict, true);
});

test('completion_gate overrides the default that the promise implies', (t) => {
  const project = aProject(t);
  const header = 'completion_promise: DONE\ncompletion_gate: optional\n';
  assert.equal(start(project, folder(project, 'job', header)).task?.gate, 'optional');
});

test('a folder, its RALPH.md and an absolute path are the same task, also through a symbolic link', (t) => {
  const project = aProject(t);
  const { directory } = project;
  folder(project, 'jobs/auth');
  symlinkSync(directory, join(directory, '..', 'linked'));
  const linked = join(directory, '..', 'linked', 'jobs', 'auth');
  for (const task of ['jobs/auth', './jobs/auth/', 'jobs/auth/RALPH.md', join(directory, 'jobs/auth'), linked]) {
    assert.equal(taskPathOf(directory, task), 'jobs/auth/RALPH.md', task);
  }
  assert.equal(taskPathOf(directory, null), '.claude/ralph/PROMPT.md');
  assert.throws(() => taskPathOf(directory, '..'), /is outside the project|neither RALPH\.md/);
  assert.throws(() => taskPathOf(directory, '../other/RALPH.md'), /is outside the project/);
  mkdirSync(join(directory, 'empty'));
  assert.throws(() => taskPathOf(directory, 'empty'), /The folder empty has neither RALPH\.md/);
});

test('refuses missing, unknown and unsafe arguments all at once', (t) => {
  const project = aProject(t);
  const task = folder(project, 'job');
  assert.throws(
    () => start(project, task, { args: { owner: 'a\0', mood: 'x' } }),
    (error: Error) => {
      assert.match(error.message, /--arg owner: a value cannot hold a NUL/);
      assert.match(error.message, /--arg mood: the task file has no argument of this name.*\(it declares owner, env\)/);
      assert.match(error.message, /the argument "env" has no value\. Give it: --arg env=VALUE/);
      return true;
    },
  );
  assert.throws(
    () => start(project, null, { args: { owner: 'x' } }),
    /--arg owner: the task file has no argument of this name .* \(it declares none\)/,
  );
  assert.equal(readContract(project.files), null);
});

test('accept applies the arguments of the start again and drops one that is no longer declared', (t) => {
  const project = aProject(t);
  const task = folder(project, 'job', 'args: [a, b]\ncommands: [{ name: t, run: "echo {{ args.a }}", timeout: 5 }]\n');
  start(project, task, { args: { a: '1', b: '2' } });
  folder(project, 'job', 'args: [a]\ncommands: [{ name: t, run: "printf {{ args.a }}", timeout: 5 }]\n');
  const changed = changedContract(project.files, project.env);
  assert.deepEqual(changed.changes, ["commands: echo '1' (5 s) -> printf '1' (5 s)", '- argument b: 2']);
  acceptContract(project.files, project.env, AT, changed, PERSON);
  const contract = readContract(project.files)?.contract;
  assert.deepEqual(contract?.task?.args, { a: '1' });
  assert.equal(contract?.task?.commands[0]?.run, "printf '1'");
  folder(project, 'job', 'args: [a, c]\n');
  assert.throws(() => changedContract(project.files, project.env), /the argument "c" has no value/);
});

test('refuses commands that together could outlast the Stop hook', (t) => {
  const project = aProject(t);
  const commands = Array.from({ length: 40 }, (_, index) => `  - { name: c${index}, run: x, timeout: 3600 }\n`).join(
    '',
  );
  assert.throws(() => start(project, folder(project, 'job', `timeout: 3600\ncommands:\n${commands}`)), /Shorten it/);
});

test('a folder gives its loop a valid name that no other folder gets', (t) => {
  const project = aProject(t);
  const { directory, env } = project;
  const name = (path: string) => taskLoopName(directory, `${path}/RALPH.md`, env);
  assert.equal(name('jobs/auth'), 'auth');
  assert.equal(name('new task'), 'new-task');
  assert.equal(name('.hidden'), 'hidden');
  assert.equal(name('Prüfung'), 'Prufung');
  assert.match(name('日本'), /^task-[0-9a-f]{8}$/);
  assert.equal(name(`x${'y'.repeat(300)}`).length, 50);
  for (const path of ['a/b..', '-', '...', 'a'.repeat(300), 'é'.repeat(80), 'x\ny', '$(x)'])
    assert.match(name(path), LOOP_NAME);

  start(project, folder(project, 'jobs/auth', ''), { name: 'auth' });
  const other = name('more/auth');
  assert.match(other, /^auth-[0-9a-f]{8}$/);
  assert.equal(name('jobs/auth'), 'auth');
  start(project, folder(project, 'more/auth', ''), { name: other });
  assert.equal(name('more/auth'), other);
});

test('an argument named like a placeholder reaches the shell unchanged in every iteration', (t) => {
  const project = aProject(t);
  const header = `args: [x]\ncommands: [{ name: t, run: "printf %s {{ args.x }} '{{ args.x }}'" }]\n`;
  const x = "{{ ralph.iteration }}{{{ args.x }}'\n";
  const run = start(project, folder(project, 'job', header), { args: { x } }).task?.commands[0]?.run ?? '';
  assert.equal(execFileSync('bash', ['-c', run], { encoding: 'utf8' }), x + x);
  assert.doesNotMatch(run, /\{\{\s*ralph/);
});

test('OPEN_QUESTIONS.md has to exist where the task file asks for it or the folder has it at the start', (t) => {
  const project = aProject(t);
  const promise = 'completion_promise: DONE\n';
  const wanted = (name: string, header: string): string =>
    start(project, folder(project, name, header), { name }).task?.openQuestions ?? 'required';
  assert.equal(wanted('plain', promise), 'optional');
  assert.equal(wanted('asks', `${promise}completion_gate: required\n`), 'required');
  assert.equal(wanted('lets', `${promise}completion_gate: required\nopen_questions: optional\n`), 'optional');
  assert.equal(wanted('wants', `${promise}open_questions: required\n`), 'required');
  put(join(project.directory, 'has', 'OPEN_QUESTIONS.md'), '');
  assert.equal(wanted('has', promise), 'required');
  put(join(project.directory, 'has-and-lets', 'OPEN_QUESTIONS.md'), '');
  assert.equal(wanted('has-and-lets', `${promise}open_questions: optional\n`), 'optional');
});
