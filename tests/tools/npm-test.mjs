// What `npm test` does: install, build, checks beside all tests. Beside the installation of packages it installs the programs
// of the tests that are missing, as root on Debian; what fails there is tried again and reported by the tests.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { runForwarding } from './end-together.mjs';

const { needed, others } = JSON.parse(readFileSync('tests/support/packages.json', 'utf8'));
const has = (program) => spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program]).status === 0;

async function installPrograms() {
  const missing = Object.keys(needed).filter((name) => !has(name) && !(name in others && has(others[name])));
  if (process.getuid?.() !== 0 || missing.length === 0 || !has('apt-get')) return;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const packages = missing.map((name) => needed[name]);
  for (const words of [['update'], ['install', '--yes', '--no-install-recommends', ...packages]])
    await runForwarding('apt-get', ['-qq', ...words], { stdio: 'ignore', env });
}

const programs = installPrograms();
process.exitCode = await runForwarding(process.execPath, ['scripts/setup.mjs']);
if (process.exitCode === 0) {
  await programs;
  process.exitCode = await checkAndTest();
}

/** Runs the check beside the tests, which leave it the cores when they begin; one that fails ends them. */
async function checkAndTest() {
  const failing = new AbortController();
  const tests = runForwarding(process.execPath, ['tests/tools/run-tests.mjs'], undefined, failing.signal);
  const check = await runForwarding(process.execPath, ['tests/tools/check.mjs']);
  if (check !== 0) failing.abort();
  const tested = await tests;
  return check || tested;
}
