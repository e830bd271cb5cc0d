// Prepares a fresh clone, also for `npm install -g .` and `npm pack`, which run it as `prepare`. Plain JavaScript without
// dependencies, because it runs before they are installed.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 12)) {
  console.error(`ralph-loop needs node 20.12 or newer; this is ${process.versions.node}.`);
  process.exit(1);
}

// npm also runs `prepare` at the end of the install below; the build follows that anyway.
if (process.env.RALPH_SETUP) process.exit(0);

if (lacksPackages()) run('Installing', 'npm', ['ci', '--loglevel=error', '--no-audit', '--no-fund']);
run('Building', process.execPath, ['--import', 'tsx', 'scripts/build.ts']);

/** Returns whether a package of the lock file is missing or has another version: in a fresh clone and after a pull. */
function lacksPackages() {
  const installed = 'node_modules/.package-lock.json';
  if (!existsSync(installed)) return true;
  const [wanted, there] = ['package-lock.json', installed].map(
    (path) => JSON.parse(readFileSync(path, 'utf8')).packages,
  );
  const missing = ([path, { version, optional }]) => path !== '' && !optional && there[path]?.version !== version;
  return Object.entries(wanted).some(missing);
}

function run(what, command, args) {
  console.log(`${what} …`);
  // A global install passes its own settings on, which would also install globally here.
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_config_(?:global|prefix|location)/i.test(name));
  const env = { ...Object.fromEntries(kept), RALPH_SETUP: '1' };
  const options = { stdio: 'inherit', env, shell: process.platform === 'win32' };
  const { status, error } = spawnSync(command, args, options);
  if (error) console.error(String(error));
  if (status !== 0) process.exit(status ?? 1);
}
