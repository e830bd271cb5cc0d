import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Runs one test file by the runner of `npm run test:fast`. */
function runFast(body: string): { status: number | null; output: string } {
  mkdirSync(join(root, '.build'), { recursive: true });
  const folder = mkdtempSync(join(root, '.build', 'fast-tests-'));
  try {
    const file = join(folder, 'example.test.ts');
    writeFileSync(file, `import assert from 'node:assert/strict';\nimport { test } from 'node:test';\n${body}\n`);
    const runner = join(root, 'tests', 'tools', 'fast-tests.ts');
    const run = spawnSync(process.execPath, ['--import', 'tsx', runner, file], { cwd: root, encoding: 'utf8' });
    return { status: run.status, output: run.stdout + run.stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('the fast runner', () => {
  it('exits with 0 when every test passes', () => {
    const { status, output } = runFast("test('adds', () => { assert.equal(1 + 1, 2); });");
    assert.match(output, /1 passed, 0 failed/);
    assert.equal(status, 0);
  });

  it('names file and test and exits with 1 when a test fails (control)', () => {
    const { status, output } = runFast("test('adds', () => { assert.equal(1 + 1, 3); });");
    assert.match(output, /FAILED \.build\/fast-tests-\w+\/example\.test\.ts: adds\n/);
    assert.match(output, /0 passed, 1 failed/);
    assert.equal(status, 1);
  });

  it('fails a test that starts a process', () => {
    const { status, output } = runFast(
      "import { spawnSync } from 'node:child_process';\ntest('starts', () => { assert.equal(spawnSync('true').status, 0); });",
    );
    assert.match(output, /npm run test:fast starts no process/);
    assert.equal(status, 1);
  });
});

/** Runs a tool in a copy of the project with one source, which imports a file that the build makes. */
function runInCopy(words: readonly string[], isBuilt = false): { status: number | null; stderr: string } {
  mkdirSync(join(root, '.build'), { recursive: true });
  const folder = mkdtempSync(join(root, '.build', 'fast-tests-'));
  try {
    cpSync(join(root, 'tests', 'tools'), join(folder, 'tests', 'tools'), { recursive: true });
    for (const name of ['src', '.build', 'tests/property']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'src', 'a.ts'), "import a from '../.build/a-shapes.json' with { type: 'json' };\n");
    writeFileSync(join(folder, 'a.test.ts'), "import './src/a.ts';\n");
    if (isBuilt) writeFileSync(join(folder, '.build', 'a-shapes.json'), '{}');
    const { status, stderr } = spawnSync(process.execPath, words, { cwd: folder, encoding: 'utf8' });
    return { status, stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('without a build', () => {
  for (const words of [
    ['--import', 'tsx', 'tests/tools/fast-tests.ts'],
    ['tests/tools/run-tests.mjs', 'a.test.ts'],
    ['tests/tools/check.mjs'],
  ]) {
    it(`${words.join(' ')} names the command that is missing`, () => {
      assert.deepEqual(runInCopy(words), { status: 1, stderr: 'Run npm run build first.\n' });
    });
  }

  it('nothing is said when the file is there (control)', () => {
    assert.deepEqual(runInCopy(['tests/tools/needs-build.mjs'], true), { status: 0, stderr: '' });
  });
});
