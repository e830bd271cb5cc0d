import './needs-build.mjs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleFastTests, fastTestFiles, slowTestFiles } from './bundle-fast-tests.ts';

/**
 * Runs the unit tests that start no process, in three processes: `npm run test:fast`. Arguments choose: a file by its path, or
 * all files with that text in their path; of these it then also runs those that start processes, each in its own.
 */
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const parts = process.argv.slice(2);
const files = fastTestFiles();
const others = slowTestFiles();
const chosen = parts.length === 0 ? files : parts.flatMap((part) => chosenOf(part, files, true));
const chosenOthers = parts.flatMap((part) => chosenOf(part, others, false));
if (chosen.length + chosenOthers.length === 0) {
  console.error(`No unit test has ${parts.join(' or ')} in its path.`);
  process.exit(1);
}
// Inside a run of node's test runner, a process with this variable would report to that run instead.
const { NODE_TEST_CONTEXT: _, ...env } = process.env;
/** Many files are shared by three processes; of few, another one would start longer than it runs. */
const shares = chosen.length < 40 ? [chosen] : [0, 1, 2].map((nth) => chosen.filter((_, at) => at % 3 === nth));
await Promise.all(
  shares.map(async (share, at) => {
    if (share.length === 0) return;
    const outfile = await bundleFastTests(share, `.build/fast-tests-${at}.mjs`);
    await play('--enable-source-maps', '--import', 'tsx', '--test-reporter', './tests/tools/fast-reporter.ts', outfile);
  }),
);
if (chosenOthers.length > 0) await play('tests/tools/run-tests.mjs', ...chosenOthers);
if (parts.length === 0) {
  const names = others.map((file) => file.replace('tests/unit/', '').replace('.test.ts', ''));
  console.log(`Not played, since they start processes (npm run test:unit): ${names.join(' ')}`);
}

async function play(...words: string[]): Promise<void> {
  const [status] = await once(spawn(process.execPath, words, { cwd: root, stdio: 'inherit', env }), 'close');
  if (status !== 0) process.exitCode = 1;
}

/** A file that is named is one of `all`; one that lies elsewhere is taken for one that starts no process. */
function chosenOf(part: string, all: readonly string[], takesAny: boolean): readonly string[] {
  if (!existsSync(resolve(part)) || !part.endsWith('.ts')) return all.filter((path) => path.includes(part));
  const file = relative(root, resolve(part)).replaceAll('\\', '/');
  return all.includes(file) || (takesAny && !others.includes(file)) ? [file] : [];
}
