// Makes a fresh clone ready, also for `npm install -g .` and `npm pack`, which run it as `prepare`. Plain JavaScript with
// no dependency, because it runs before there are any.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 12)) {
  console.error(`ralph-loop needs node 20.12 or newer; this is ${process.versions.node}.`);
  process.exit(1);
}

// npm runs `prepare` at the end of the install below as well; the build follows that anyway.
if (process.env.RALPH_SETUP) process.exit(0);

const installed = 'node_modules/.package-lock.json';
const stale = !existsSync(installed) || statSync(installed).mtimeMs < statSync('package-lock.json').mtimeMs;
if (stale) run('Installing', 'npm', ['ci', '--loglevel=error', '--no-audit', '--no-fund']);
run('Building', process.execPath, ['--import', 'tsx', 'scripts/build.ts']);

function run(what, command, args) {
  console.log(`${what} …`);
  // A global install passes its own settings on, which would install globally here as well.
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_config_(?:global|prefix|location)/i.test(name));
  const env = { ...Object.fromEntries(kept), RALPH_SETUP: '1' };
  const options = { stdio: 'inherit', env, shell: process.platform === 'win32' };
  const { status, error } = spawnSync(command, args, options);
  if (error) console.error(String(error));
  if (status !== 0) process.exit(status ?? 1);
}
