import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { EvidenceCommand } from '../../../src/engine/schema/contract.ts';
import { commandOutcome } from '../../../src/engine/schema/records.ts';
import { runEvidence } from '../../../src/task/commands/run-evidence.ts';
import type { TaskCommandOptions } from '../../../src/task/commands/run-pinned-command.ts';
import { buildContract } from '../../../src/task/settings/build-contract.ts';
import { ENV } from '../../support/environment.ts';
import { folderWith, writeFiles } from '../../support/folder.ts';
import { until } from '../../support/until.ts';
import { alive } from './support/alive.ts';
import { taskTerms } from './support/task-terms.ts';
import { whenTimeIsUp } from './support/when-time-is-up.ts';

type Command = Partial<EvidenceCommand> & { readonly run: string };

function evidence(directory: string, commands: readonly Command[], more: Partial<TaskCommandOptions> = {}) {
  const { contract } = buildContract(taskTerms(directory, { commands }));
  const options = { signal: new AbortController().signal, env: ENV, iteration: 3, ...more };
  return runEvidence(contract, directory, options);
}

async function one(context: TestContext, command: Command, more: Partial<TaskCommandOptions> = {}) {
  const [only] = await evidence(folderWith(context, { 'tasks/one/RALPH.md': '' }), [command], more);
  assert.ok(only);
  return only;
}

test('a loop without a task folder has no evidence', async (context) => {
  const directory = folderWith(context);
  const { contract } = buildContract(taskTerms(directory, { commands: [{ run: 'true' }] }));
  const options = { signal: new AbortController().signal, env: ENV, iteration: 1 };
  assert.deepEqual(await runEvidence({ ...contract, task: null }, directory, options), []);
});

test('commands run in order, and each reports how it ended', async (context) => {
  const directory = folderWith(context, { 'tasks/one/RALPH.md': '' });
  const found = await evidence(directory, [
    { name: 'good', run: 'echo err >&2' },
    { name: 'bad', run: 'echo broken; exit 3' },
    { name: 'silent', run: 'exit 1' },
    { name: 'killed', run: 'kill -KILL $$' },
    { name: 'nothing', run: 'true' },
  ]);
  assert.deepEqual(
    found.map(({ name, outcome, exitCode, output }) => [name, outcome, exitCode, output]),
    [
      ['good', 'ok', 0, 'err'],
      ['bad', 'error', 3, 'broken\n[exit code 3]'],
      ['silent', 'error', 1, '[exit code 1]'],
      ['killed', 'error', null, '[ended by SIGKILL]'],
      ['nothing', 'ok', 0, ''],
    ],
  );
  for (const { exitCode: _, output: __, why: ___, ...record } of found) commandOutcome.parse(record);
});

test('a command runs in the directory from the contract', async (context) => {
  const directory = folderWith(context, { 'tasks/one/RALPH.md': '' });
  const found = await evidence(directory, [
    { name: 'task', run: 'pwd', directory: 'task' },
    { name: 'project', run: 'pwd', directory: 'project' },
  ]);
  assert.deepEqual(
    found.map(({ output }) => output),
    [join(directory, 'tasks/one'), directory],
  );
});

test('names a missing task folder, and the next command runs', async (context) => {
  const directory = folderWith(context, { 'tasks/one/RALPH.md': '' });
  const { contract } = buildContract(
    taskTerms(directory, {
      commands: [
        { name: 'a', run: 'pwd', directory: 'task' },
        { name: 'b', run: 'echo b' },
      ],
    }),
  );
  rmSync(join(directory, 'tasks'), { recursive: true });
  const options = { signal: new AbortController().signal, env: ENV, iteration: 1 };
  const [gone, next] = await runEvidence(contract, directory, options);
  assert.equal(gone?.outcome, 'error');
  assert.equal(gone?.output, `[could not be started: there is no directory ${join(directory, 'tasks/one')}]`);
  assert.equal(next?.output, 'b');
});

test('a command is outside the loop, and knows its iteration', async (context) => {
  const run = 'echo "$RALPH_ACTIVE {{ ralph.iteration }} {{ralph.iteration}}"';
  const { output } = await one(context, { run }, { env: { ...ENV, RALPH_ACTIVE: '1' }, iteration: 7 });
  assert.equal(output, '0 7 7');
});

test('keeps the output of a command over its time limit, with the mark', async (context) => {
  let heard: number | null = null;
  const onLine = (): void => {
    heard ??= performance.now();
  };
  const slow = await whenTimeIsUp(
    context,
    1_000,
    'it has worked for a while',
    () => heard !== null && performance.now() - heard >= 100,
    () => one(context, { run: 'echo working; sleep 300', timeoutSeconds: 1 }, { onLine }),
  );
  assert.deepEqual([slow.outcome, slow.exitCode, slow.output], ['timeout', null, 'working\n[timed out after 1s]']);
  assert.ok(slow.durationMs >= 100, `${slow.durationMs}`);
});

test('a guardrail sees what would really run, and where', async (context) => {
  const directory = folderWith(context, { 'tasks/one/RALPH.md': '' });
  const asked: string[] = [];
  const blockingRule = async (run: string, where: string): Promise<string | null> => {
    asked.push(`${run} in ${where}`);
    return run.startsWith('touch') ? 'touch\\s+ran' : null;
  };
  const found = await evidence(
    directory,
    [
      { name: 'a', run: 'touch ran-{{ ralph.iteration }}', directory: 'task' },
      { name: 'b', run: 'echo b' },
    ],
    { blockingRule },
  );
  assert.deepEqual(asked, [`touch ran-3 in ${directory}/tasks/one`, `echo b in ${directory}`]);
  assert.deepEqual(
    found.map(({ outcome, exitCode, bytes, output }) => [outcome, exitCode, bytes, output]),
    [
      ['blocked', null, 0, '[blocked by guardrail: touch\\s+ran]'],
      ['ok', 0, 2, 'b'],
    ],
  );
  assert.equal(existsSync(join(directory, 'tasks/one/ran-3')), false);
});

test('does not run a script that changed since the start', async (context) => {
  const directory = folderWith(context, { 'tasks/one/check.sh': '#!/bin/sh\necho honest\n' });
  const { contract } = buildContract(
    taskTerms(directory, { commands: [{ name: 'a', run: './check.sh', directory: 'task' }] }),
  );
  const options = { signal: new AbortController().signal, env: ENV, iteration: 1 };
  const [honest] = await runEvidence(contract, directory, options);
  assert.equal(honest?.output, 'honest', 'control: unchanged it runs');
  writeFiles(directory, { 'tasks/one/check.sh': '#!/bin/sh\ntouch forged\n' });
  const [forged] = await runEvidence(contract, directory, options);
  assert.equal(forged?.outcome, 'blocked');
  assert.match(
    forged?.output ?? '',
    /^\[tasks\/one\/check\.sh was changed since .*, so it was not run\. .*ralph-loop accept\.\]$/,
  );
  assert.equal(existsSync(join(directory, 'tasks/one/forged')), false);
});

test('pins a script that is named by the number of an iteration for each iteration', async (context) => {
  const directory = folderWith(context, {
    'tasks/one/step-3.sh': 'echo third\n',
    'tasks/one/step-4.sh': 'echo fourth\n',
  });
  const { contract } = buildContract(
    taskTerms(directory, { commands: [{ run: 'sh ./step-{{ ralph.iteration }}.sh', directory: 'task' }] }),
  );
  assert.deepEqual(Object.keys(contract.scripts), ['tasks/one/step-3.sh', 'tasks/one/step-4.sh']);
  writeFiles(directory, { 'tasks/one/step-4.sh': 'echo forged\n' });
  const at = (iteration: number) =>
    runEvidence(contract, directory, { signal: new AbortController().signal, env: ENV, iteration });
  assert.equal((await at(3))[0]?.output, 'third');
  assert.equal((await at(4))[0]?.outcome, 'blocked');
});

test('cuts a long output to what fits into a prompt, with how it ended', async (context) => {
  const run = 'echo first; head -c 1000000 /dev/zero | tr "\\0" x; echo; echo last; exit 4';
  const { output, bytes, truncated, preview } = await one(context, { run });
  assert.equal(bytes, 1_000_012);
  assert.equal(truncated, true);
  assert.ok(output.length <= 12_000 && output.length > 11_950, String(output.length));
  assert.match(output, /^first\nx+\n\[… 1000012 bytes in all, the middle left out …\]\nx+\nlast\n\[exit code 4\]$/);
  assert.ok(preview.length <= 500 && preview.length > 450, String(preview.length));
  assert.match(preview, /^first\nx+\n\[\.\.\. \d+ characters in all \.\.\.\]\nx+\nlast\n\[exit code 4\]$/);
});

test('keeps an output of 12,000 characters whole and cuts a longer one', async (context) => {
  const whole = await one(context, { run: 'head -c 12000 /dev/zero | tr "\\0" x' });
  assert.deepEqual([whole.truncated, whole.output], [false, 'x'.repeat(12_000)]);
  const cut = await one(context, { run: 'head -c 12001 /dev/zero | tr "\\0" x' });
  assert.equal(cut.truncated, true);
  assert.match(cut.output, /^x{8400}\n\[… 12001 bytes in all, the middle left out …\]\nx+$/);
  const ended = await one(context, { run: 'head -c 12000 /dev/zero | tr "\\0" x; exit 1' });
  assert.equal(ended.truncated, true, 'the exit code needs room as well');
  assert.ok(ended.output.length <= 12_000);
});

test('bounds an endless output in memory and ends it at its time limit', async (context) => {
  const before = process.memoryUsage().rss;
  let heard = 0;
  const onLine = (line: string): void => {
    heard += line.length;
  };
  const run = 'yes "$(head -c 5000 /dev/zero | tr "\\0" y)"';
  const { outcome, bytes, output } = await whenTimeIsUp(
    context,
    2_000,
    'it has printed a lot',
    () => heard > 300_000_000,
    () => one(context, { run, timeoutSeconds: 2 }, { onLine }),
  );
  assert.equal(outcome, 'timeout');
  assert.ok(bytes >= heard, `${bytes}`);
  assert.ok(output.length <= 12_000);
  assert.ok(process.memoryUsage().rss - before < 200_000_000);
});

test('an abort ends the running command, and the next one never begins', async (context) => {
  const directory = folderWith(context, { 'tasks/one/RALPH.md': '' });
  const abort = new AbortController();
  const commands = [
    { name: 'a', run: 'sleep 300 & echo $! > child; sleep 300' },
    { name: 'b', run: 'touch second' },
  ];
  const running = evidence(directory, commands, { signal: abort.signal });
  const child = join(directory, 'child');
  await until('it runs', () => existsSync(child) && readFileSync(child, 'utf8') !== '');
  const pid = Number(readFileSync(child, 'utf8'));
  assert.equal(alive(pid), true, 'control: it lives');
  abort.abort(new Error('told to go'));
  await assert.rejects(running, /told to go/);
  assert.equal(alive(pid), false);
  assert.equal(existsSync(join(directory, 'second')), false);
});

test('an abort before the start runs nothing', async (context) => {
  const directory = folderWith(context, { 'tasks/one/RALPH.md': '' });
  const running = evidence(directory, [{ run: 'touch ran' }], { signal: AbortSignal.abort() });
  await assert.rejects(running, { name: 'AbortError' });
  assert.equal(existsSync(join(directory, 'ran')), false);
});
