import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ENV } from '../../support/environment.ts';
import { folderWith } from '../../support/folder.ts';
import { plainProgram } from '../../support/plain-program.ts';
import { until } from '../../support/until.ts';
import { alive } from './support/alive.ts';
import { gate } from './support/gate.ts';
import { whenTimeIsUp } from './support/when-time-is-up.ts';

/** A command that leaves a grandchild sleeping and writes both process ids down. */
const FAMILY = 'sleep 300 & echo $! > grandchild; echo $$ > child; ';
const pidIn = (directory: string, name: string) => Number(readFileSync(join(directory, name), 'utf8'));
const isThere = (directory: string) => existsSync(join(directory, 'child')) && pidIn(directory, 'child') > 0;

test('ends a command over its time limit with everything that it started', async (context) => {
  const directory = folderWith(context);
  const lines: string[] = [];
  const [result] = await whenTimeIsUp(
    context,
    1_000,
    'it works',
    () => lines.includes('working'),
    () =>
      gate(directory, [{ run: `${FAMILY} echo working; sleep 300`, timeout: 1 }], {
        onLine: (line) => lines.push(line),
      }),
  );
  assert.equal(result?.outcome, 'timeout');
  assert.equal(result?.detail, 'not done after 1 s, so it was ended.\nworking');
  assert.equal(alive(pidIn(directory, 'child')), false);
  assert.equal(alive(pidIn(directory, 'grandchild')), false);
});

test('ends a process that ignores SIGTERM too', async (context) => {
  const directory = folderWith(context);
  const stubborn = `trap '' TERM; (trap '' TERM; while :; do sleep 0.1; done) & echo $! > grandchild; echo $$ > child; while :; do sleep 0.1; done`;
  const [result] = await whenTimeIsUp(
    context,
    1_000,
    'the family is there',
    () => isThere(directory),
    () => gate(directory, [{ run: stubborn, timeout: 1 }]),
  );
  assert.equal(result?.outcome, 'timeout');
  // Nobody waits for more than half a second until the system has carried a SIGKILL out.
  await until('the family is gone', () => !['child', 'grandchild'].some((name) => alive(pidIn(directory, name))));
});

test('ends what a command leaves running', async (context) => {
  const directory = folderWith(context);
  const [result] = await gate(directory, [`${FAMILY} test -s grandchild`]);
  assert.equal(result?.outcome, 'ok');
  assert.equal(alive(pidIn(directory, 'grandchild')), false);
});

test('an abort ends everything and rejects with its reason', async (context) => {
  const directory = folderWith(context);
  const abort = new AbortController();
  const running = gate(directory, [`${FAMILY} sleep 300`, 'touch second'], { signal: abort.signal });
  await until('the family is there', () => isThere(directory));
  abort.abort(new Error('the hook was told to end'));
  await assert.rejects(running, /the hook was told to end/);
  assert.equal(alive(pidIn(directory, 'child')), false);
  assert.equal(alive(pidIn(directory, 'grandchild')), false);
  assert.equal(existsSync(join(directory, 'second')), false);
});

test('an abort before the start runs nothing', async (context) => {
  const directory = folderWith(context);
  await assert.rejects(gate(directory, ['touch ran'], { signal: AbortSignal.abort() }), { name: 'AbortError' });
  assert.equal(existsSync(join(directory, 'ran')), false);
});

test('a process that ends during its gate ends the commands too', async (context) => {
  const directory = folderWith(context);
  const program = `
    import { runCommand } from '../../src/task/commands/run-command.ts';
    runCommand({ run: ${JSON.stringify(`${FAMILY} sleep 300`)}, directory: process.cwd(), env: process.env, timeoutMs: 60000, signal: new AbortController().signal });
    process.stdin.on('data', () => process.exit(0));
  `;
  const driver = spawn(process.execPath, [await plainProgram(directory, program)], {
    cwd: directory,
    env: ENV,
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  const done = new Promise((resolve) => driver.once('exit', resolve));
  await until('the family is there', () => isThere(directory));
  assert.equal(alive(pidIn(directory, 'grandchild')), true, 'control: it lives while the driver does');
  driver.stdin?.write('end\n');
  assert.equal(await done, 0);
  await until('the family is gone', () => !alive(pidIn(directory, 'child')) && !alive(pidIn(directory, 'grandchild')));
});
