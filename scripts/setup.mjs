// Makes a fresh clone ready: plain JavaScript with no dependency, because it runs before there are any.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 12)) {
  console.error(`ralph-loop needs node 20.12 or newer; this is ${process.versions.node}.`);
  process.exit(1);
}

const installed = 'node_modules/.package-lock.json';
const stale = !existsSync(installed) || statSync(installed).mtimeMs < statSync('package-lock.json').mtimeMs;
if (stale) run('Installing', 'npm', ['ci', '--no-audit', '--no-fund']);
run('Building', process.execPath, ['--import', 'tsx', 'scripts/build.ts']);

function run(what, command, args) {
  console.log(`${what} …`);
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', shell: process.platform === 'win32' });
  if (error) console.error(String(error));
  if (status !== 0) process.exit(status ?? 1);
}
