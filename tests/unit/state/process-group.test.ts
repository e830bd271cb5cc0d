import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { forgetGroup, spawnGroup } from '../../../src/state/process/group.ts';
import { emptyFolder } from '../../support/folder.ts';
import { plainProgram } from '../../support/plain-program.ts';

/** As where a container is entered without a /proc of its own: there it counts processes as the system outside does. */
const ELSEWHERE = ['--user', '--map-root-user', '--pid', '--fork'];
const canGo = spawnSync('unshare', [...ELSEWHERE, 'true'], { stdio: 'ignore' }).status === 0;

test('kills a group that ignores signals, even if /proc does not list its processes', {
  skip: !canGo && 'this system gives nobody a namespace of processes',
}, async (t) => {
  const script = `
    import { spawn } from 'node:child_process';
    import { once } from 'node:events';
    import { endGroup } from '../../src/state/process/group.ts';
    const deaf = 'trap "" TERM; echo up; while :; do sleep 0.05; done';
    const child = spawn('/bin/sh', ['-c', deaf], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    const exit = once(child, 'exit');
    await endGroup(child.pid);
    setTimeout(() => process.exit(1), 30_000).unref();
    console.log((await exit)[1]);
    process.exit(0);`;
  const node = [process.execPath, await plainProgram(emptyFolder(t), script)];
  const { stdout } = spawnSync('unshare', [...ELSEWHERE, '--kill-child', ...node], { encoding: 'utf8' });
  assert.equal(stdout, 'SIGKILL\n');
});

/** What a program does that echoes its input: its output, how it ended, and the error of its start. */
const outcomeOf = async (start: () => ChildProcess) => {
  try {
    const child = start();
    child.stdin?.on('error', () => undefined).end('input');
    const failure = once(child, 'error').then(([error]) => (error as Error).message);
    if (child.pid === undefined) return { failure: await failure };
    const closed = once(child, 'close');
    const { stdout } = child;
    assert.ok(stdout);
    // A shell sets these in every environment.
    const output = (await text(stdout)).split('\n').filter((line) => !/^(PWD|SHLVL)=/.test(line));
    const end = await closed;
    forgetGroup(child.pid);
    return { output: output.sort(), end };
  } catch (error) {
    return { failure: (error as Error).message };
  }
};

const FUNCTION = { 'BASH_FUNC_greet%%': '() { echo hello; }' };

test('a process behind the gate of its watch starts, runs and fails as one without', async (t) => {
  const cwd = emptyFolder(t);
  const write = (name: string, script: string): string => {
    const path = join(cwd, name);
    writeFileSync(path, script);
    chmodSync(path, 0o755);
    return path;
  };
  const locked = write('locked.sh', '#!/bin/sh\n');
  chmodSync(locked, 0o644);
  const sh = (script: string) => ({ program: '/bin/sh', words: ['-c', script, 'a', 'b c', ''] });
  const cases: readonly { program: string; words?: string[]; env?: Record<string, string>; cwd?: string }[] = [
    sh('cat; echo "$#" "$2"; exit 7'),
    sh('kill -s KILL $$'),
    sh('ls /proc/self/fd'),
    { program: '/usr/bin/env', env: { ...FUNCTION, 'a.b': 'c', 'npm_config_//host/:port': '1' } },
    { program: '/usr/bin/env', env: { EMPTY: '', LINES: 'a\nb', ENV: '/e', BASH_ENV: join(cwd, 'here.sh'), _: 'x' } },
    { program: '/bin/bash', words: ['-c', 'greet'], env: { PATH: '/usr/bin:/bin', ...FUNCTION } },
    { program: '/bin/echo', words: ['said'], env: { OPTIND: 'none', SHELLOPTS: 'noexec' } },
    { program: 'sh', words: ['-c', 'echo found'] },
    { program: './here.sh' },
    { program: join(cwd, 'absent') },
    { program: 'no-such-program' },
    { program: cwd },
    { program: locked },
    { program: write('here.sh', '#!/bin/sh\necho here') },
    { program: write('no-interpreter.sh', '#!/opt/no/such/shell\necho here') },
    { program: write('no-line.sh', 'echo "$0" "$#"'), words: ['-x'] },
    { ...sh('true'), cwd: join(cwd, 'gone') },
    { program: '/bin/sh', words: ['-c', 'a\0b'] },
    { program: '/bin/sh', words: ['-c', 'true', 'x'.repeat(2 ** 18)] },
  ];
  for (const { program, words = [], env = { ...process.env, GREETING: 'hi' }, ...at } of cases) {
    const options = { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] as ('ignore' | 'pipe')[], ...at };
    const gated = await outcomeOf(() => spawnGroup(program, words, options));
    const plain = await outcomeOf(() => spawn(program, words, { ...options, detached: true }));
    assert.deepEqual(gated, plain, `${program} ${words.join(' ')}`.slice(0, 200));
  }
});
