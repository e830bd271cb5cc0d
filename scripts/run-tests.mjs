// Runs the tests of the rooms that are named, or of all of them, in one run of node's own runner.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const ROOMS = ['unit', 'property', 'scenarios', 'faults', 'client'];
const wanted = process.argv.slice(2);
const unknown = wanted.filter((room) => !ROOMS.includes(room));
if (unknown.length > 0) {
  console.error(`No such room of tests: ${unknown.join(', ')}. There are: ${ROOMS.join(', ')}.`);
  process.exit(1);
}

const files = (wanted.length > 0 ? wanted : ROOMS).flatMap((room) => testFiles(join('tests', room)));
const { status } = spawnSync(
  process.execPath,
  // In a pipe node 20 would print TAP; spec is readable everywhere and ends in the same counts.
  ['--import', 'tsx', '--test', '--test-reporter=spec', '--test-concurrency=2', ...files],
  { stdio: 'inherit' },
);
process.exit(status ?? 1);

function testFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}
