import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runGate } from '../../../src/task/commands/gate.ts';
import { pinsOf } from '../../../src/task/pinned-scripts/named-scripts.ts';
import { buildContract } from '../../../src/task/settings/build-contract.ts';
import { terms } from '../../support/contract-terms.ts';
import { folderWith, writeFiles } from '../../support/folder.ts';
import { OPTIONS } from './support/gate.ts';

/** A project in which every file can be run, so that only the command decides whether it does. */
function examinedProject(context: TestContext): string {
  const scripts = ['a.sh', 'src/a.js', 'a.py', 'a.php', 'a.rb', 'a.pl', 'a.lua', 'a.c', 'setup.js', 'tests/a.bats'];
  const files = Object.fromEntries(scripts.map((path) => [path, '#!/usr/bin/env true\n']));
  const directory = folderWith(context, {
    ...files,
    'report.xml': '',
    'nginx.conf': '',
    Makefile: 'test:\n\t./a.sh\n',
    'package.json': '{"scripts":{"lint":"node --check src/a.js"}}',
    'lint.sh': 'ROOT=$(dirname "$0")\nbash -n "$ROOT/a.sh"\ngrep -q x "$ROOT/a.py"\n',
    'all.sh': '. "$(dirname "$0")/a.sh"\n',
  });
  for (const path of scripts) chmodSync(join(directory, path), 0o755);
  return directory;
}

/** Commands and what they pin. The second of a pair is the control: it runs the file that the first one reads. */
const PAIRS: readonly (readonly [reads: string, runs: string, file: string])[] = [
  ['node --check src/a.js', 'node src/a.js --check', 'src/a.js'],
  ['node -c src/a.js', 'node src/a.js -c', 'src/a.js'],
  ['node --test src/a.js', 'node --enable-source-maps src/a.js', 'src/a.js'],
  ['tsx --test src/a.js', 'tsx src/a.js --test', 'src/a.js'],
  ['cross-env CI=1 node --check src/a.js', 'cross-env CI=1 node src/a.js', 'src/a.js'],
  ['deno check src/a.js', 'deno run -A src/a.js', 'src/a.js'],
  ['bun test src/a.js', 'bun run src/a.js', 'src/a.js'],
  ['timeout 60 bash -n a.sh', 'timeout 60 bash -x a.sh', 'a.sh'],
  ['bash -o noexec a.sh', 'bash -o errexit a.sh', 'a.sh'],
  ['sh -n < a.sh', 'sh < a.sh', 'a.sh'],
  ['shellcheck -x a.sh', 'bash a.sh -n', 'a.sh'],
  ['chmod +x a.sh', 'env A=1 ./a.sh', 'a.sh'],
  ['python3 -m py_compile a.py', 'python3 a.py', 'a.py'],
  ['python3 -m pytest a.py', 'python3 -m coverage run a.py', 'a.py'],
  ['python3 -B -mmypy a.py', 'python3 -m cProfile -o report.xml a.py', 'a.py'],
  ['coverage run -m pytest a.py', 'coverage run a.py', 'a.py'],
  ['isort -c a.py', 'python3 -W error a.py', 'a.py'],
  ['php -l a.php', 'php -d x=1 a.php', 'a.php'],
  ['ruby -wc a.rb', 'ruby -w a.rb', 'a.rb'],
  ['perl -c a.pl', 'perl a.pl -c', 'a.pl'],
  ['luac -p a.lua', 'lua a.lua', 'a.lua'],
  ['gcc -c a.c', './a.c', 'a.c'],
  ['npx prettier -c src/a.js', 'npx eslint -c src/a.js', 'src/a.js'],
  ['npx tsc --noEmit src/a.js', 'my-wrapper src/a.js', 'src/a.js'],
  ['bats tests/a.bats', 'tests/a.bats', 'tests/a.bats'],
  ['node node_modules/.bin/eslint src/a.js', 'node node_modules/.bin/other src/a.js', 'src/a.js'],
  ['make -n test', 'make test', 'a.sh'],
  ['make -kn', 'make -k', 'Makefile'],
  ['/usr/bin/gmake -kn', 'gmake -k', 'Makefile'],
  ['nginx -t -c nginx.conf', 'nginx -c nginx.conf', 'nginx.conf'],
  ['pytest --junitxml=report.xml', 'pytest --conf=report.xml', 'report.xml'],
  ['my-tests --output-file report.xml src/a.js', 'my-tests --config report.xml src/a.js', 'report.xml'],
  ['eslint --stdin-filename=src/a.js', 'eslint --resolve-plugins-relative-to=src/a.js', 'src/a.js'],
  ['bash lint.sh', 'bash all.sh', 'a.sh'],
];

test('a file that a command only reads, checks, tests or writes is not pinned; one that it runs is', (context) => {
  const directory = examinedProject(context);
  const pinned = (run: string): string[] => [...pinsOf(directory, run).scripts];
  for (const [reads, runs, file] of PAIRS) {
    assert.equal(pinned(reads).includes(file), false, `${reads} reads ${file}`);
    assert.equal(pinned(runs).includes(file), true, `control: ${runs} runs ${file}`);
  }
});

test('a test runner that reads its operands still runs the files that configure it', (context) => {
  const directory = examinedProject(context);
  for (const run of [
    'node --check --import ./setup.js src/a.js',
    'node --test -r ./setup.js src/a.js',
    'mocha -r ./setup.js src/a.js',
    'NODE_OPTIONS=--require=./setup.js eslint src/a.js',
    'jest --setupFiles=./setup.js src/a.js',
    'prove --exec ./setup.js tests/a.bats',
    'vitest run --reporter ./setup.js src/a.js',
  ]) {
    assert.deepEqual([...pinsOf(directory, run).scripts], ['setup.js'], run);
  }
});

test('a lint script runs after an edit of the file that it checks, but not after an edit of itself', async (context) => {
  const directory = folderWith(context, {
    'src/a.js': 'const a = 1;\n',
    'package.json': '{"scripts":{"lint":"node --check src/a.js"}}',
  });
  const { contract } = buildContract(terms(directory, ['npm run lint']));
  const outcome = async () => (await runGate(contract, directory, OPTIONS)).map((result) => result.outcome);
  writeFiles(directory, { 'src/a.js': 'const a = 2;\n' });
  assert.deepEqual(await outcome(), ['ok']);
  writeFiles(directory, { 'src/a.js': 'const = 2;\n' });
  assert.deepEqual(await outcome(), ['failed'], 'control: the check has run');
  writeFiles(directory, { 'package.json': '{"scripts":{"lint":"true"}}' });
  assert.deepEqual(await outcome(), ['changed'], 'control: the script of the check is pinned');
});
