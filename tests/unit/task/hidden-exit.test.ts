import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { checkTaskFile } from '../../../src/task/check/check-task-file.ts';
import { hiddenExit } from '../../../src/task/commands/hidden-exit.ts';
import { folderWith } from '../../support/folder.ts';

const warnings = (frontmatter: string): string[] => {
  const { problems } = checkTaskFile('PROMPT.md', `---\n${frontmatter}\n---\nWork.\n`, 'prompt');
  return problems.filter(({ rule }) => rule === 'hidden-exit').map(({ message }) => message);
};
const check = (run: string): string[] => warnings(`validation: [${JSON.stringify(run)}]`);

test('a check that passes whatever fails in it is warned of', () => {
  for (const run of [
    ...['npm test || true', 'npm test; exit 0', 'npm test || :', 'npm test; echo done', 'npm test\nprintf "ok\\n"\n'],
    ...[
      'npm test || echo "it\'s red"',
      'npm test &',
      'cd "my app"; npm test; true;',
      'npm test || true # flaky',
      'npm test || echo red >&2',
    ],
    ...['npm test || { echo red; }', 'npm test || (echo red)', 'npm test; rm -rf out'],
    ...['sh -c "lint; exit 1" || true', "bash -ec 'lint; exit 1'; true", '(lint; exit 1) || true'],
  ])
    assert.match(check(run)[0] ?? '', /^validation\[0\] exits with 0 whatever fails: remove "/, run);
  for (const run of [
    'npm test | tail -5',
    'npm test | tail -5\n',
    'npm test 2>&1 | tee log.txt',
    'npm run a && npm test |& cat',
    'npm test | tail -5 # in short',
  ])
    assert.match(check(run)[0] ?? '', /has the exit code of "(?:tail|tee|cat)", whatever fails before it/, run);
  assert.match(check('npm test | tail -5')[0] ?? '', /: remove "\| tail -5", or begin with "set -o pipefail;"\.$/);
});

test('a check that lists, plans or describes what it would test is warned of', () => {
  for (const run of [
    ...['make -n test', 'gmake --just-print test', 'just --dry-run test', 'task -n test', 'ctest -N'],
    ...['ctest --show-only=json-v1', 'turbo run test --dry=json', 'nx run-many -t test --graph=x.json'],
    ...['go test -list . ./...', 'go test -c -o /dev/null ./a', 'deno test --no-run', 'bun test --help'],
    ...['pytest --collect-only -q', 'python3 -m pytest --co', '.venv/bin/pytest --version', 'uv run pytest --fixtures'],
    ...['npx jest --listTests', './node_modules/.bin/jest -v', 'npx vitest list', 'mocha --dry-run', 'ava --version'],
    ...['npx playwright test --list', 'cucumber-js --dry-run', 'bundle exec rspec --dry-run', 'prove -D t'],
    ...['vendor/bin/phpunit --list-tests', 'bats --count a.bats', 'tox -l', 'nox --list', 'tox -e py --notest'],
    ...['cargo test -- --list', 'cargo +nightly test --no-run', 'cargo nextest list', 'dotnet test --list-tests'],
    ...['./gradlew test --dry-run', 'gradle -m check', 'eslint --print-config a.js', 'tsc -v', 'tsc --showConfig'],
    ...['mocha --version && mocha --list-files', 'CI=1 timeout 60 jest --help'],
  ])
    assert.match(check(run)[0] ?? '', /^validation\[0\] tests nothing with "-?-?[a-zA-Z].*": remove that\.$/, run);
  for (const run of [
    ...[
      'make -n test && make test',
      'mocha --version && mocha',
      'ctest -N | grep -q "Total Tests: 5"',
      'make -j4 test',
    ],
    ...['cargo run -- --list', 'cargo bench --no-run', 'tox -e py -- -l', 'prove -v t', 'go test -count=1 ./...'],
    ...['vitest run list', 'npx jest list -c jest.json', 'bin/cli --version', 'node cli.js --help', 'cargo check'],
    ...['kubectl apply --dry-run=server -f a.yaml', 'cargo test --no-run && ./run-them', 'pytest -m list', 'make list'],
    ...[
      'test "$(jest --version)" = 29.7.0',
      'prettier --list-different .',
      'pytest --count 3',
      'grep -q "jest --listTests" README.md',
      'nx test -- --graph',
    ],
  ])
    assert.deepEqual(check(run), [], run);
});

test('control: a check whose exit code counts is not', () => {
  for (const run of [
    'npm test',
    'true',
    'set -o pipefail; npm test | tail -5',
    'git status --porcelain | grep -q .',
    'npm test | tail -1 | grep -q passed',
    'test -e a || exit 1',
    'sh -c "a | tail" && npm test',
    'cat names.txt | sort -c',
    'npm test | tail -3\nnpm run lint',
    'grep -rn TODO src && exit 1 || true',
    'grep -q debugger app.js && exit 1; exit 0',
    'npm test || exit $?; true',
    'set -e; npm test; rm -rf out || true',
    'set -euo pipefail\nnpm test\nrm -rf out || true',
    'diff <(sort a.txt) <(jq .b a.json | sort)',
    'test $(git diff --name-only | head -1) = a.ts',
    '[ -z `git status --porcelain | head -1` ]',
    'npm test || cat log.txt',
    'test -n "$(npm ls || true)"',
    'npm test || { echo red; false; }',
    'rm -rf out; npm test',
    'npm test && rm -rf out',
    'npm test || rm -rf out && false',
    'sleep 1',
    'test "$(date +%u)" -lt 6',
    'npm test || (echo red; exit 1)',
    'test -n $(grep x a.txt || true)',
    'npm test && echo done',
    'npm run lint &&\n  npm test &&\n  echo "all good"',
    'npm run lint && \\\n  npm test && \\\n  echo done',
    'npm test # once it was: || true',
    'npm test # R&D &',
    'test "${#NAME}" -gt 3',
    'set -u -e; npm test; echo ok',
    'set -o pipefail -e\nnpm test\necho ok',
    'npm test || { echo failed; exit 1; }',
    'if grep -rn TODO src; then\n  exit 1\nfi\necho clean',
    'for f in *.js; do node --check $f || exit 1; done; echo ok',
    'serve & sleep 1; curl -sf localhost:80',
    'npm test 2>&1',
    'npm test &>log.txt',
    'node -e "run(); true"',
    `perl -e 'die unless -s "a"; printf "ok"'`,
    `awk '/x/ { bad = 1 } END { exit bad; print "a" }' a.txt`,
    'serve & wait $!',
  ])
    assert.deepEqual(check(run), [], run);
});

test('a command is warned of where its result is a check', () => {
  const commands = (more: string): string => `commands: [{ name: a, run: "npm test | tail -5"${more} }]`;
  assert.match(warnings(commands(', acceptance: true'))[0] ?? '', /^commands\[0\]\.run has the exit code of "tail"/);
  assert.deepEqual(warnings(commands('')), [], 'control: evidence for the prompt');
});

const scripts = (all: Record<string, string>): Record<string, string> => ({
  'package.json': JSON.stringify({ scripts: all }),
});
const recipe = (...lines: string[]): Record<string, string> => ({ Makefile: ['test:', ...lines].join('\n\t') });
const shell = (text: string): Record<string, string> => ({ 'check.sh': text });
const soft = scripts({ test: 'tsc || true' });
const hidden = (context: TestContext, run: string, files: Record<string, string>): string | null =>
  hiddenExit(run, false, folderWith(context, files));

test('a check is refused whose script, recipe or shell script passes whatever fails', (context) => {
  for (const [run, files, why] of [
    [
      'npm test',
      scripts({ test: 'jest || true' }),
      /^runs the script "test", which exits with 0 .*: remove "\|\| true"\.$/,
    ],
    ['CI=1 yarn test', scripts({ test: 'tsc; exit 0' }), /remove "; exit 0"/],
    [
      'pnpm run t',
      scripts({ t: 'vitest run | tee log' }),
      /which has the exit code of "tee", .*: remove "\| tee log"\.$/,
    ],
    [
      'cd . && npm run a -- --ci',
      scripts({ a: 'npm run b', b: 'eslint . || true' }),
      /the script "a", which runs the script "b",/,
    ],
    [
      'npm run a && npm run b',
      scripts({ a: 'tsc || true', b: 'eslint . || { echo red; }' }),
      /the script "a", which .*: remove "\|\| true"/,
    ],
    ['make -s test', recipe('@echo "Testing"', '-pytest'), /^runs Makefile, which ignores what fails: remove the "-"/],
    ['make test', recipe('pytest || echo red >&2'), /remove "\|\| echo red >&2"/],
    [
      'npm test',
      { ...scripts({ test: 'make' }), ...recipe('mypy . || true') },
      /the script "test", which runs Makefile,/,
    ],
    ['just', { justfile: 'test:\n  ruff check || true\n' }, /^runs justfile,/],
    [
      'bash check.sh',
      shell('npx tsc\nnpx eslint .\necho "All good"\n'),
      /^runs check\.sh, which .* remove "echo "All good""/,
    ],
    ['./check.sh', shell('#!/bin/bash\nnpx tsc; rm -rf out\n'), /remove "; rm -rf out"/],
    ['make -j 4 test', recipe('# in short', 'pytest || true'), /remove "\|\| true"/],
    ["bash -c 'npm test'", scripts({ test: 'tsc || true' }), /the script "test"/],
    ['make test', { Makefile: 'SHELL := /bin/bash\ntest:\n\ttsc | tee log\n' }, /remove "\| tee log"/],
  ] as const)
    assert.match(hidden(context, run, files) ?? '', why, run);
});

test('control: a check whose scripts may fail is not', (context) => {
  for (const [run, files] of [
    ['npm test', scripts({ test: 'jest' })],
    ['npm test', scripts({ pretest: 'tsc', test: 'eslint . || true' })],
    ['npm run lint && npm test', scripts({ lint: 'eslint . || true', test: 'tsc' })],
    ['npm test', scripts({ test: 'npm run lint; tsc', lint: 'eslint . || true' })],
    ['npm run lint || true && tsc', scripts({ lint: 'eslint .' })],
    ['npm test', scripts({ test: 'echo "no tests yet"' })],
    ['npm test', scripts({ test: 'npm test' })],
    ['npm ci', scripts({ ci: 'tsc || true' })],
    ['npm test', scripts({ test: 'grep -rn TODO src && exit 1 || true' })],
    ['npm test', scripts({ test: 'bash -o pipefail -c "tsc | tee log"' })],
    ['! npm run -s todo', scripts({ todo: 'grep -r TODO src | cat' })],
    ['pnpm run lint && pnpm run jest', scripts({ lint: 'eslint . || true' })],
    ['npm test --workspaces', scripts({ test: 'tsc || true' })],
    ['make test', recipe('-rm -f out', '@pytest || true', 'mypy .')],
    ['make test', { Makefile: 'test: build\n\t-pytest\nbuild:\n\tgcc a.c\n' }],
    ['make test', recipe('@echo done')],
    ['make lint && ./run', recipe('pytest || true')],
    ['bash check.sh', shell('set -e\nnpx tsc\necho ok\n')],
    ['bash -e check.sh', shell('npx tsc\necho ok\n')],
    ['./check.sh', shell('#!/bin/bash -eu\nnpx tsc\necho ok\n')],
    ['./check.sh', shell('#!/usr/bin/env -S bash -e\nnpx tsc\necho ok\n')],
    ['sh check.sh', shell('npx tsc || exit\nnpx eslint . || exit 2\necho ok\n')],
    ['sh check.sh', shell('npx tsc || exit 1\ncat log | tail -3\n')],
    ['sh check.sh', shell('. ./lib.sh\nnpx tsc || die\necho ok\n')],
    ['sh check.sh', shell("trap 'kill $$' ERR\nnpx tsc\necho ok\n")],
    ['sh check.sh', shell('npx tsc\nnpx eslint .\n')],
    ['./check.py', { 'check.py': '#!/usr/bin/env python3\nprint(1); exit\n' }],
    ['./check.sh', shell('#!/bin/sh\n# later\nexit 0\n')],
    ['sh missing.sh', {}],
    // A command of the shell itself, a script out of reach and another folder decide as well.
    ['npm test && [[ -s out ]]', soft],
    ['npm test && ((RANDOM > 1))', soft],
    ['npm test && bash missing.sh', soft],
    ['npm test && bash big.sh', { ...soft, 'big.sh': `${'# a line\n'.repeat(2000)}tsc\n` }],
    [
      '(cd web && npm test) && npm test',
      { ...scripts({ test: 'tsc' }), 'web/package.json': soft['package.json'] ?? '' },
    ],
    // Shells that end at what fails, and texts for other shells.
    ['make test', { Makefile: '.SHELLFLAGS := -eu -o pipefail -c\ntest:\n\ttsc | tee log\n' }],
    ['make test', { Makefile: '.SHELLFLAGS = -o errexit -c\ntest:\n\ttsc; echo ok\n' }],
    ['make test', { Makefile: 'SHELL = /bin/bash -e\ntest:\n\ttsc; echo ok\n' }],
    ['just', { justfile: 'set shell := ["bash", "-euo", "pipefail", "-c"]\ntest:\n  tsc | tee log\n' }],
    ['bash -o errexit check.sh', shell('npx tsc\necho ok\n')],
    ['bash -o pipefail check.sh', shell('npx tsc | tee log\n')],
    ['sh check.sh', shell('if [ -f lib.sh ]; then . ./lib.sh; fi\nnpx tsc\necho ok\n')],
    ['sh check.sh', shell('cd "$(dirname "$0")" && . ./lib.sh\nnpx tsc\necho ok\n')],
    ['./check.sh', shell('#!/usr/bin/env fish\ntsc; or return 1\necho ok\n')],
    // Goals that are not found, and a default that is not the first.
    ['make', { Makefile: '.DEFAULT_GOAL := test\nclean:\n\t-rm -rf out\ntest:\n\ttsc\n' }],
    ['make lint', { Makefile: 'include $(ROOT)/common.mk\nclean:\n\t-rm -rf out\n' }],
    ['node check.js', { 'check.js': 'run() || true' }],
  ] as const)
    assert.equal(hidden(context, run, files), null, `${run} ${JSON.stringify(files)}`);
});

test('scripts that repeat blank lines and redirections are read to their end', (context) => {
  for (const text of [`a${'\n'.repeat(9000)}b`, `x;echo ${'1>&2'.repeat(3000)}(`])
    assert.equal(hidden(context, 'sh check.sh', shell(text)), null);
});

test('a type check is refused whose tsconfig.json lists no files', (context) => {
  const solution = '{ "files": [], "references": [{ "path": "./tsconfig.app.json" }] }';
  const files = { ...scripts({ types: 'tsc --noEmit' }), 'tsconfig.json': solution };
  const why = /runs tsc on a tsconfig\.json that lists no files: add "-b"/;
  for (const run of [
    'tsc',
    'npx tsc --noEmit',
    'npm run types',
    'node_modules/.bin/vue-tsc --noEmit',
    'tsc && echo ok',
  ])
    assert.match(hidden(context, run, files) ?? '', why, run);
  for (const run of ['tsc -b', 'npx tsc --build', 'tsc -p tsconfig.app.json', 'tsc a.ts', 'tsc --noEmit && npm test'])
    assert.equal(hidden(context, run, files), null, run);
  for (const config of ['{}', '{ "files": ["a.ts"] }', '{ "files": [], "include": ["src"] }'])
    assert.equal(hidden(context, 'tsc', { 'tsconfig.json': config }), null, config);
});
