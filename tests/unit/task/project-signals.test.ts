import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type TestContext, test } from 'node:test';
import { draftTask } from '../../../src/task/draft/draft-task.ts';
import { projectSignals } from '../../../src/task/draft/project-signals.ts';
import { folderWith } from '../../support/folder.ts';

const scripts = (entries: Record<string, unknown>): string => JSON.stringify({ scripts: entries });
const ALL = scripts({ test: 'vitest run', lint: 'eslint .', build: 'tsc -b', typecheck: 'tsc --noEmit', dev: 'vite' });

/** Files of a project, and the commands that it offers. */
const PROJECTS: [what: string, files: Record<string, string>, runs: string[]][] = [
  ['an empty folder', {}, []],
  [
    'npm',
    { 'package.json': ALL, 'package-lock.json': '{}' },
    ['npm test', 'npm run typecheck', 'npm run lint', 'npm run build', 'npm audit'],
  ],
  [
    'pnpm',
    { 'package.json': ALL, 'pnpm-lock.yaml': '' },
    ['pnpm test', 'pnpm run typecheck', 'pnpm run lint', 'pnpm run build', 'pnpm audit'],
  ],
  ['yarn', { 'package.json': scripts({ test: 'jest' }), 'yarn.lock': '' }, ['yarn test']],
  [
    'bun, whose own test runner is another',
    { 'package.json': scripts({ test: 'x' }), 'bun.lock': '' },
    ['bun run test'],
  ],
  [
    'a packageManager key where no lock file is',
    { 'package.json': '{"packageManager":"pnpm@9.1.0","scripts":{"test":"x"}}' },
    ['pnpm test'],
  ],
  ['no lock file at all', { 'package.json': scripts({ lint: 'x' }) }, ['npm run lint']],
  ['other names of the type check', { 'package.json': scripts({ 'check-types': 'tsc' }) }, ['npm run check-types']],
  [
    'the test that npm init writes',
    { 'package.json': scripts({ test: 'echo "Error: no test specified" && exit 1' }) },
    [],
  ],
  [
    'tests without one script for all of them',
    { 'package.json': scripts({ 'test:e2e': 'x', 'test:unit': 'x', check: 'x' }) },
    ['npm run test:unit', 'npm run check'],
  ],
  ['a test that never ends', { 'package.json': scripts({ test: 'jest --watch', lint: ' ' }) }, []],
  ['a test that watches nothing', { 'package.json': scripts({ test: 'ng test --watch=false' }) }, ['npm test']],
  ['a package.json that is none', { 'package.json': '{' }, []],
  ['scripts that are no texts', { 'package.json': scripts({ test: 1, lint: null, build: {} }) }, []],
  ['Cargo', { 'Cargo.toml': '' }, ['cargo test', 'cargo clippy', 'cargo build']],
  ['Go', { 'go.mod': '' }, ['go test ./...', 'go vet ./...', 'go build ./...']],
  ['pytest by its own file', { 'pytest.ini': '' }, ['python3 -m pytest']],
  [
    'pyproject with uv',
    { 'pyproject.toml': '[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n', 'uv.lock': '' },
    ['uv run pytest', 'uv run mypy .', 'uv run ruff check .'],
  ],
  [
    'poetry',
    { 'pyproject.toml': '[tool.poetry.group.dev.dependencies]\npytest = "^8"\n', 'poetry.lock': '' },
    ['poetry run pytest'],
  ],
  ['a pyproject without tests', { 'pyproject.toml': '[project]\nname = "x"\n' }, []],
  [
    'a Makefile',
    { Makefile: 'all: build\nbuild test: src\n\tcc\nlint::\n\tx\nTEST := 1\nlint-fix:\n' },
    ['make test', 'make lint', 'make build'],
  ],
  ['a Makefile whose test is a variable', { Makefile: 'test := 1\ntest=2\n' }, []],
];

const WORKSPACE = {
  'packages/a/package.json': scripts({ test: 'x', build: 'y' }),
  'packages/b/package.json': scripts({ lint: 'z' }),
};
const OF_NPM = JSON.stringify({ workspaces: ['packages/*'], scripts: { build: 'tsc -b' } });

PROJECTS.push(
  [
    'npm workspaces',
    { ...WORKSPACE, 'package.json': OF_NPM },
    ['npm run build', 'npm run test --workspaces --if-present', 'npm run lint --workspaces --if-present'],
  ],
  [
    'pnpm workspaces',
    { ...WORKSPACE, 'package.json': '{}', 'pnpm-workspace.yaml': 'packages: ["packages/*"]\n' },
    ['pnpm -r run test', 'pnpm -r run lint', 'pnpm -r run build', 'pnpm audit'],
  ],
  ['a script called check', { 'package.json': scripts({ check: 'x' }) }, ['npm run check']],
  ['check beside test', { 'package.json': scripts({ check: 'x', test: 'y' }) }, ['npm test', 'npm run check']],
  [
    'a justfile',
    { justfile: 'default: test\n@test *args:\n  cargo test\nlint:\n  x\nname := "y"\n', 'Cargo.toml': '' },
    ['just test', 'just lint', 'cargo build'],
  ],
  ['a Taskfile', { 'taskfile.yaml': "tasks:\n    'test':\n        cmds: [x]\n    b: x\n" }, ['task test']],
  [
    'Go with a Makefile',
    { 'go.mod': '', Makefile: 'test:\n\tgo test ./...\nbuild:\n\tgo build\n' },
    ['make test', 'make build', 'go vet ./...'],
  ],
  [
    'npm with a Makefile',
    { 'package.json': scripts({ test: 'x' }), Makefile: 'test:\n\tnpm test\nbuild:\n\ty\n' },
    ['npm test', 'make build'],
  ],
  ['plain unittest files', { 'tests/test_a.py': 'import unittest\n' }, ['python3 -m unittest discover -s tests']],
  ['unittest files in the root', { 'test_a.py': 'from unittest import TestCase\n' }, ['python3 -m unittest']],
  [
    'plain test functions',
    { 'tests/test_a.py': 'def test_a(): pass\n', 'requirements.txt': '' },
    ['python3 -m pytest'],
  ],
  ['tox', { 'tox.ini': '[tox]\n[testenv]\ndeps = pytest\n' }, ['tox']],
  ['tox without an environment of its own', { 'tox.ini': '[tox]\nenvlist = py312\n' }, ['tox']],
  ['tox in its own TOML file', { 'tox.toml': 'env_list = ["py312"]\n' }, ['tox']],
  ['a tox.ini that only configures flake8', { 'tox.ini': '[flake8]\n' }, ['flake8']],
  ['nox', { 'noxfile.py': '' }, ['nox']],
  [
    'flake8 and black',
    { 'setup.cfg': '[flake8]\n', 'pyproject.toml': '[tool.black]\n' },
    ['flake8', 'black --check .'],
  ],
  ['Maven', { 'pom.xml': '' }, ['mvn -B test', 'mvn -B -DskipTests package']],
  ['Maven with its wrapper', { 'pom.xml': '', mvnw: '' }, ['sh mvnw -B test', 'sh mvnw -B -DskipTests package']],
  ['Gradle', { 'build.gradle.kts': '', gradlew: '' }, ['sh gradlew test', 'sh gradlew assemble']],
  [
    'CMake with tests',
    { 'CMakeLists.txt': 'enable_testing()\n' },
    [
      'cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure',
      'cmake -S . -B build && cmake --build build',
    ],
  ],
  ['CMake without tests', { 'CMakeLists.txt': 'project(x)\n' }, ['cmake -S . -B build && cmake --build build']],
  [
    'Ruby with rspec and rubocop',
    { Gemfile: '', '.rspec': '', '.rubocop.yml': '' },
    ['bundle exec rspec', 'bundle exec rubocop'],
  ],
  ['Ruby with rake', { Rakefile: 'task :test do\nend\n' }, ['rake test']],
  [
    'PHP with a script of composer',
    { 'composer.json': scripts({ test: 'phpunit' }), 'phpunit.xml': '' },
    ['composer test'],
  ],
  ['PHP with Pest', { 'composer.json': '{}', 'phpunit.xml': '', 'tests/Pest.php': '' }, ['vendor/bin/pest']],
  ['PHP with PHPUnit alone', { 'composer.json': '{}', 'phpunit.xml.dist': '' }, ['vendor/bin/phpunit']],
  ['notes and pictures', { 'README.md': '', 'docs/a.md': '' }, []],
);

/** A PATH with the programs that are only named where they are installed. */
function withPrograms(t: TestContext): NodeJS.ProcessEnv {
  const bin = folderWith(
    t,
    Object.fromEntries(['cargo-clippy', 'flake8', 'black', 'ruff', 'mypy'].map((name) => [name, ''])),
  );
  for (const name of readdirSync(bin)) chmodSync(join(bin, name), 0o755);
  return { PATH: bin };
}

for (const [what, files, runs] of PROJECTS) {
  test(`signals of ${what}`, (t) => {
    const { commands } = projectSignals(folderWith(t, files), withPrograms(t));
    assert.deepEqual(
      commands.map(({ run }) => run),
      runs,
    );
  });
}

test('reports what was found and left out, with the reason', (t) => {
  const signals = projectSignals(folderWith(t, { 'Cargo.toml': '', Makefile: 'test:\n' }), { PATH: '' });
  assert.deepEqual(signals.leftOut, [
    'cargo test (make test is chosen)',
    'cargo clippy (cargo-clippy is not on the PATH)',
  ]);
});

test('a folder without commands names the nearest folder above it in the repository that has some', (t) => {
  const files = { 'a/src/lib/x.js': '', 'a/package.json': '{"scripts":{"test":"node --test"}}', Makefile: 'test:\n' };
  const dir = folderWith(t, files);
  const above = (path: string) => projectSignals(join(dir, path)).above;
  assert.equal(above('a/src/lib'), null, 'outside a repository');
  mkdirSync(join(dir, '.git'));
  assert.equal(above('a/src/lib'), join(dir, 'a'));
  assert.equal(above('a'), null, 'which has its own');
  const inner = 'a/src/lib';
  const cd = `A folder above has some: cd ${relative(process.cwd(), join(dir, 'a'))}`;
  assert.ok(
    draftTask('fix the tests', projectSignals(join(dir, inner)))
      .notes.join()
      .includes(cd),
  );
  mkdirSync(join(dir, inner, '.git'));
  assert.equal(above(inner), null, 'a repository of its own');
});

test('ignores folders in the place of the files', (t) => {
  const dir = folderWith(t);
  for (const name of ['package.json', 'pyproject.toml', 'Makefile']) mkdirSync(join(dir, name));
  assert.deepEqual(projectSignals(dir).commands, []);
});
