import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { emptyFolder } from '../../support/folder.ts';
import { plainProgram } from '../../support/plain-program.ts';
import { until } from '../../support/until.ts';

const running = (commandLine: string): number[] =>
  readdirSync('/proc').flatMap((name) => {
    try {
      const found = /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8') === commandLine;
      return found ? [Number(name)] : [];
    } catch {
      return []; // it has just gone
    }
  });

/** Two processes, one of them deaf to a polite word. */
const command = (seconds: string) => `(trap '' TERM; sleep ${seconds}) & sleep ${seconds}`;

test('a command ends with everything it started when the process that runs it is killed', {
  skip: process.platform !== 'linux' && 'there is no /proc here to see it',
}, async (context) => {
  const [watched, unwatched] = [`600.${process.pid}`, `601.${process.pid}`];
  const processes = (seconds: string) => running(`sleep\0${seconds}\0`);
  const cwd = emptyFolder(context);
  const program = await plainProgram(cwd, "import '../unit/task/support/run-and-hang.ts';");
  const child = spawn(process.execPath, [program, command(watched), command(unwatched)], { cwd, stdio: 'ignore' });
  context.after(() => {
    for (const pid of [watched, unwatched].flatMap(processes)) process.kill(pid, 'SIGKILL');
  });
  await until('both commands run', () => [watched, unwatched].every((seconds) => processes(seconds).length === 2));
  await until('the command is watched', () => existsSync(join(cwd, 'watched.txt')));
  child.kill('SIGKILL');
  await until('the command is gone', () => processes(watched).length === 0);
  assert.equal(processes(unwatched).length, 2, 'control: one that nobody watches runs on');
});
