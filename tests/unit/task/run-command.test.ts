import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { type CommandOutcome, runCommand } from '../../../src/task/commands/run-command.ts';
import { ENV } from '../../support/environment.ts';
import { alive } from './support/alive.ts';

/** Runs what prints its process id first; with `told` we are told to go as soon as that process is gone. */
async function run(command: string, told: boolean): Promise<CommandOutcome> {
  const abort = new AbortController();
  let looking: NodeJS.Timeout | undefined;
  const onLine = (line: string): void => {
    if (!told) return;
    looking = setInterval(() => {
      if (!alive(Number(line))) abort.abort();
    }, 5);
  };
  const options = { directory: tmpdir(), env: ENV, timeoutMs: 60_000, signal: abort.signal, onLine };
  return runCommand({ run: command, ...options }).finally(() => clearInterval(looking));
}

for (const [how, command, end] of [
  ['a signal', 'echo $$; kill -s TERM $$', { kind: 'signal', signal: 'SIGTERM' }],
  ['the exit code of one', 'echo $$; exit 143', { kind: 'exit', code: 143 }],
] as const) {
  test(`a command that something else ended just before us, with ${how}, has no result; later it has`, async () => {
    await assert.rejects(run(command, true), { name: 'AbortError' });
    assert.deepEqual((await run(command, false)).end, end);
  });
}

test('counts the tests in JSON that is longer than a line of a runner', async () => {
  const counts = '{"numTotalTestSuites":1,"numPassedTests":0,"numFailedTests":0,"numPendingTests":2,"testResults":"';
  const { tests } = await run(`printf '${counts}'; head -c 40000 /dev/zero | tr '\\0' x; echo '"}'`, false);
  assert.deepEqual(tests, { run: 0, failed: 0, skipped: 2, failures: [] });
});

test('a test cannot hide failures between lines of another runner where the exit code says nothing', async () => {
  const lines = ['TAP version 13', '  0 passing (2ms)', '  1 failing', '# tests 1', '# pass 1', '# fail 0'];
  const printed = `printf '${lines.join('\\n')}\\n'`;
  const failed = async (command: string) => (await run(command, false)).tests?.failed;
  assert.equal(await failed(`${printed} | tee /dev/null`), 1);
  assert.equal(await failed(`${printed}; false || true`), 1);
  assert.equal(await failed(printed), 0, 'control: with an exit code, a test may print what another runner reports');
});
