// A process that a test kills: it runs a command as the loop does, and the same one as nobody should.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { runCommand } from '../../../../src/task/commands/run-command.ts';

const [watched = '', unwatched = ''] = process.argv.slice(2);
spawn('/bin/sh', ['-c', unwatched], { detached: true, stdio: 'ignore' });
const run = runCommand({
  run: watched,
  directory: process.cwd(),
  env: process.env,
  timeoutMs: 60_000,
  signal: new AbortController().signal,
});
// By now the command's end is provided for: a kill between its start and this line would leave it running.
writeFileSync('watched.txt', '');
await run;
