import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleFastTests, fastTestFiles } from './bundle-fast-tests.ts';

/**
 * Runs the unit tests that start no process, in one process: `npm run test:fast`. Arguments choose: a file by its path, or
 * all files with that text in their path.
 */
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const parts = process.argv.slice(2);
const files = fastTestFiles();
const chosen = parts.length === 0 ? files : parts.flatMap(filesOf);
if (chosen.length === 0) {
  console.error(`No test that starts no process has ${parts.join(' or ')} in its path.`);
  process.exit(1);
}
const outfile = await bundleFastTests(chosen);
// Inside a run of node's test runner, a process with this variable would report to that run instead.
const { NODE_TEST_CONTEXT: _, ...env } = process.env;
const { status } = spawnSync(
  process.execPath,
  ['--enable-source-maps', '--import', 'tsx', '--test-reporter', './tests/tools/fast-reporter.ts', outfile],
  { cwd: root, stdio: 'inherit', env },
);
process.exit(status ?? 1);

function filesOf(part: string): string[] {
  const file = resolve(part);
  return existsSync(file) && part.endsWith('.ts')
    ? [relative(root, file).replaceAll('\\', '/')]
    : files.filter((path) => path.includes(part));
}
