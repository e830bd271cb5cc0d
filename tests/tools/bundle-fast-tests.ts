import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';
import { behaveAsSources, nameTests } from './bundle-tests.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const FOLDER = 'tests/unit';
const STARTS_PROCESSES = /from 'node:child_process'|support\/starts-processes\.ts'/;
const IMPORTED_FILE = /(?:from|import) '(\.[^']+\.ts)'/g;
const OUTFILE = '.build/fast-tests.mjs';

/**
 * Lists the unit tests that start no process. A file is left out when it, or test code that it imports, imports
 * node:child_process or tests/support/starts-processes.ts.
 */
export function fastTestFiles(): string[] {
  return testFiles(FOLDER).filter((file) => !startsProcesses(join(root, file)));
}

/** Lists the unit tests that start processes. */
export function slowTestFiles(): string[] {
  return testFiles(FOLDER).filter((file) => startsProcesses(join(root, file)));
}

/** Bundles test files into one that node runs as a whole, and returns its path. */
export async function bundleFastTests(tests: readonly string[], outfile = OUTFILE): Promise<string> {
  await esbuild.build({
    stdin: { contents: tests.map((file) => `import './${file}';`).join('\n'), resolveDir: root, loader: 'ts' },
    absWorkingDir: root,
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    sourcemap: 'linked',
    logLevel: 'warning',
    plugins: [{ name: 'fast-tests', setup }],
  });
  return outfile;
}

function testFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)).replaceAll('\\', '/'))
    .sort();
}

function startsProcesses(file: string, seen = new Set<string>()): boolean {
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  if (STARTS_PROCESSES.test(text)) return true;
  const imported = [...text.matchAll(IMPORTED_FILE)].map(([, path = '']) => resolve(dirname(file), path));
  return imported.some(
    (path) => path.startsWith(join(root, 'tests')) && !seen.has(path) && startsProcesses(path, seen),
  );
}

function setup(build: esbuild.PluginBuild): void {
  build.onResolve({ filter: /^(node:)?child_process$/ }, () => ({ path: join(root, 'tests/tools/no-processes.ts') }));
  nameTests(build, (file) => file.endsWith('.test.ts'));
  behaveAsSources(build);
}
