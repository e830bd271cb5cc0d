import { readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

/** Files that start processes. */
const LONG = new Set(['long-messages.test.ts']);
const TESTS = 'tests/unit/engine';
const SOURCES = 'src/engine';
/** Tests of what reads task files: they hold the engine's rules on plans, scenarios and signals as well. */
const READERS = ['plan/read-plan', 'tdd/read-scenarios'].map((name) => `tests/unit/task/${name}.test.ts`);

/**
 * The unit tests of src/engine in one file that node runs as it is: a run costs one start and no transpiling. Sources that
 * no test imports come first, so that coverage knows of them. `quick` stops at the first failure and says little of it.
 */
export async function bundleCoreTests(root: string, outfile: string, runner: 'node' | 'quick'): Promise<void> {
  const sources = filesIn(root, SOURCES).filter((file) => !file.startsWith(`${SOURCES}/schema/`));
  const tests = filesIn(root, TESTS).filter(
    (file) => file.endsWith('.test.ts') && !LONG.has(file.slice(TESTS.length + 1)),
  );
  const contents = [...sources, ...tests, ...READERS].map((file) => `import './${file}';`).join('\n');
  await esbuild.build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    absWorkingDir: root,
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    ...(runner === 'quick' ? { alias: { 'node:test': './tests/tools/quick-test.ts' } } : {}),
    sourcemap: 'linked',
    treeShaking: false,
    logLevel: 'warning',
  });
}

function filesIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)).replaceAll('\\', '/'))
    .sort();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
  await bundleCoreTests(root, join(root, '.build', 'core-tests.mjs'), 'quick');
}
