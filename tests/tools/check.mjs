// Runs everything that `npm run check` checks, side by side: most of it leaves a core idle for much of its time.
import './needs-build.mjs';
import { spawn } from 'node:child_process';
import { delimiter, resolve } from 'node:path';

/** One thread: several check each type of a package once more each, which takes half as much again on two cores. */
const CHECKS = [
  'tsc --noEmit --singleThreaded',
  'biome check --error-on-warnings .',
  'tsc --noEmit -p src/web/page',
  'node --import tsx tests/tools/check-tree.ts',
  'node --import tsx tests/tools/check-tests.ts',
  'node --import tsx tests/tools/check-plugin.ts',
];
/** The compiler is written in Go, which collects garbage for a quarter of its time unless it may keep more of it. */
const GOGC = '400';
const PATH = [resolve('node_modules', '.bin'), process.env.PATH].join(delimiter);

const failed = (await Promise.all(CHECKS.map(check))).filter((command) => command !== null);
if (failed.length > 0) {
  console.error(`\nThe check failed: ${failed.join('; ')}.`);
  process.exitCode = 1;
}

/** Runs a command, shows what it says as one piece when it has ended, and returns the command if it failed. */
async function check(command) {
  const env = { ...process.env, PATH, GOGC };
  const child = spawn(command, { shell: true, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  const code = await new Promise((done) => child.once('close', done));
  process.stdout.write(said);
  return code === 0 ? null : command;
}
