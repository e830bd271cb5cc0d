// Runs the test folders or files that are named, or all folders, in one run of node's own runner.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const FOLDERS = ['unit', 'property', 'scenarios', 'faults', 'client'];
const names = process.argv.slice(2);
const isFile = (name) => name.endsWith('.test.ts') && existsSync(name);
const unknown = names.filter((name) => !FOLDERS.includes(name) && !isFile(name));
if (unknown.length > 0) {
  console.error(`Unknown tests: ${unknown.join(', ')}. Name a test file or one of: ${FOLDERS.join(', ')}.`);
  process.exit(1);
}

const files = (names.length > 0 ? names : FOLDERS).flatMap((name) =>
  isFile(name) ? [name] : testFiles(join('tests', name)),
);
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
