import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { emptyFolder } from '../../support/folder.ts';

const MODULE = new URL('../../../src/hosts/agent/start-command-agent.ts', import.meta.url);

test('a process that has left the group of its agent with its pipes keeps nothing waiting', async (t) => {
  const file = join(emptyFolder(t), 'pid');
  const agent = `setsid sh -c 'echo $$ > ${file}; exec sleep 3600' & until test -s ${file}; do :; done; echo fine`;
  const options = {
    ...{ program: '/bin/sh', args: ['-c', agent], cwd: '/', prompt: '', silenceMs: 600_000, timeMs: null },
    ...{ lingerMs: 600_000, guarded: false, allowance: { costUsd: null, tokens: null, timeMs: null } },
  };
  const program = `const { startCommandAgent } = await import(${JSON.stringify(MODULE)});
    const options = { ...${JSON.stringify(options)}, env: process.env, onMessage: () => undefined };
    console.log((await startCommandAgent(options).done).outcome.kind);`;
  const words = ['--import', 'tsx', '--input-type=module', '-e', program];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  let shown = '';
  child.stdout.on('data', (chunk) => (shown += chunk));
  const [code] = await once(child, 'exit');
  // The control: what holds the pipes runs on.
  process.kill(Number(readFileSync(file, 'utf8')), 'SIGKILL');
  assert.deepEqual([code, shown.trim()], [0, 'ok']);
});
