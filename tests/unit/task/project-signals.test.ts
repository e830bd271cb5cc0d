import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectSignals } from '../../../src/task/draft/project-signals.ts';
import { project } from '../../support/folder.ts';

const scripts = (entries: Record<string, unknown>): string => JSON.stringify({ scripts: entries });
const ALL = scripts({ test: 'vitest run', lint: 'eslint .', build: 'tsc -b', typecheck: 'tsc --noEmit', dev: 'vite' });

/** Files of a project, its package manager, and the commands that it offers. */
const PROJECTS: readonly [what: string, files: Record<string, string>, manager: string | null, runs: string[]][] = [
  ['an empty folder', {}, null, []],
  [
    'npm',
    { 'package.json': ALL, 'package-lock.json': '{}' },
    'npm',
    ['npm test', 'npm run typecheck', 'npm run lint', 'npm run build'],
  ],
  [
    'pnpm',
    { 'package.json': ALL, 'pnpm-lock.yaml': '' },
    'pnpm',
    ['pnpm test', 'pnpm run typecheck', 'pnpm run lint', 'pnpm run build'],
  ],
  ['yarn', { 'package.json': scripts({ test: 'jest' }), 'yarn.lock': '' }, 'yarn', ['yarn test']],
  [
    'bun, whose own test runner is another',
    { 'package.json': scripts({ test: 'x' }), 'bun.lock': '' },
    'bun',
    ['bun run test'],
  ],
  ['a packageManager key where no lock file is', { 'package.json': '{"packageManager":"pnpm@9.1.0"}' }, 'pnpm', []],
  ['no lock file at all', { 'package.json': scripts({ lint: 'x' }) }, 'npm', ['npm run lint']],
  [
    'other names of the type check',
    { 'package.json': scripts({ 'check-types': 'tsc' }) },
    'npm',
    ['npm run check-types'],
  ],
  [
    'the test that npm init writes',
    { 'package.json': scripts({ test: 'echo "Error: no test specified" && exit 1' }) },
    'npm',
    [],
  ],
  ['a test that never ends', { 'package.json': scripts({ test: 'jest --watch', lint: ' ' }) }, 'npm', []],
  ['a test that watches nothing', { 'package.json': scripts({ test: 'ng test --watch=false' }) }, 'npm', ['npm test']],
  ['a package.json that is none', { 'package.json': '{' }, 'npm', []],
  ['scripts that are no texts', { 'package.json': scripts({ test: 1, lint: null, build: {} }) }, 'npm', []],
  ['Cargo', { 'Cargo.toml': '' }, null, ['cargo test', 'cargo build']],
  ['Go', { 'go.mod': '' }, null, ['go test ./...', 'go vet ./...', 'go build ./...']],
  ['pytest by its own file', { 'pytest.ini': '' }, null, ['python3 -m pytest']],
  [
    'pyproject with uv',
    { 'pyproject.toml': '[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n', 'uv.lock': '' },
    null,
    ['uv run pytest', 'uv run mypy .', 'uv run ruff check .'],
  ],
  [
    'poetry',
    { 'pyproject.toml': '[tool.poetry.group.dev.dependencies]\npytest = "^8"\n', 'poetry.lock': '' },
    null,
    ['poetry run pytest'],
  ],
  ['a pyproject without tests', { 'pyproject.toml': '[project]\nname = "x"\n' }, null, []],
  [
    'a Makefile',
    { Makefile: 'all: build\nbuild test: src\n\tcc\nlint::\n\tx\nTEST := 1\nlint-fix:\n' },
    null,
    ['make test', 'make lint', 'make build'],
  ],
  ['a Makefile whose test is a variable', { Makefile: 'test := 1\ntest=2\n' }, null, []],
];

for (const [what, files, manager, runs] of PROJECTS) {
  test(`signals of ${what}`, (t) => {
    const found = projectSignals(project(t, files));
    assert.equal(found.packageManager, manager);
    assert.deepEqual(
      found.commands.map(({ run }) => run),
      runs,
    );
  });
}

test('folders in the place of the files are no signals that break anything', (t) => {
  const dir = project(t);
  for (const name of ['package.json', 'pyproject.toml', 'Makefile']) mkdirSync(join(dir, name));
  assert.deepEqual(projectSignals(dir).commands, []);
});
