import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { takeAllowRequest } from '../../../../src/drive/control/allow-request.ts';
import { writeRecord } from '../../../../src/state/files/regular-file.ts';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { identityOf } from '../../../../src/state/process/identity.ts';
import { digest } from '../../../../src/text/digest.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { startTerminal } from '../../../support/terminal/terminal.ts';
import { until } from '../../../support/until.ts';

const CALL = 'toolu_1';
const TITLE = `allow ${digest(CALL)}`;
const NAMED = `process.title = ${JSON.stringify(TITLE)}; setInterval(() => undefined, 1_000);`;

const titled = (pid: number) => () => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(TITLE);

/** A loop's files, a process of somebody's with the title of attach that asks, and what becomes of a request. */
async function attack(t: TestContext, env: NodeJS.ProcessEnv = {}) {
  const dir = emptyFolder(t);
  const files = loopFiles(dir, null, { HOME: dir, XDG_STATE_HOME: `${dir}/state` });
  const child = spawn(process.execPath, ['-e', NAMED], { env: { ...process.env, ...env }, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  const pid = child.pid ?? 0;
  await until('the title', titled(pid));
  const ask = (request: object, agentPid: number | null = null) => {
    writeRecord(files.allowRequest, request);
    const asked = takeAllowRequest(files, agentPid);
    assert.equal(takeAllowRequest(files, agentPid), null, 'a request counts once');
    return asked;
  };
  return { dir, pid, ask };
}

test("a program of the agent cannot ask to allow a denied call, also not in another process's name", async (t) => {
  const { pid, ask } = await attack(t);
  const own = { ...identityOf(pid), call: CALL };
  assert.deepEqual(ask(own, process.pid), { refused: `process ${pid} belongs to the agent` });
  assert.deepEqual(ask(own), { refused: `process ${pid} has no terminal` }, 'it has left the processes of the agent');
  assert.deepEqual(ask({ ...own, call: 'toolu_2' }), { refused: `process ${pid} did not ask` });
  assert.deepEqual(ask({ ...own, startedAt: 'x:1' }), { refused: 'that process is not running' });
  for (const torn of [{}, { pid, call: CALL }, { ...own, startedAt: null }]) {
    assert.deepEqual(ask(torn), { refused: 'who asks is unknown' });
  }
  const marked = await attack(t, { CLAUDECODE: '1', RALPH_LOOP_ID: 'a' });
  assert.deepEqual(marked.ask({ ...identityOf(marked.pid), call: CALL }), {
    refused: `process ${marked.pid} belongs to the agent`,
  });
});

test('control: a process in a terminal of the user that asks itself is believed', async (t) => {
  const { dir, ask } = await attack(t);
  const env = { PATH: process.env['PATH'] ?? '', HOME: dir, TERM: 'xterm' };
  const terminal = await startTerminal({ command: process.execPath, args: ['-e', NAMED], env, cwd: dir });
  t.after(() => terminal.close());
  const pid = await terminal.pid();
  await until('the title', titled(pid));
  const asked = ask({ ...identityOf(pid), call: CALL });
  assert.equal(asked !== null && 'call' in asked && asked.call, CALL, JSON.stringify(asked));
});
