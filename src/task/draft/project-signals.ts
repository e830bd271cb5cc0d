import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularFile } from '../../state/files/read-regular-file.ts';
import { packageScript } from '../pinned-scripts/package-scripts.ts';

export type Role = 'tests' | 'types' | 'lint' | 'build';
export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun';

export interface ProjectCommand {
  readonly role: Role;
  readonly run: string;
  /** Source: `package.json`, `Cargo.toml`, `go.mod`, `python` or `make`. */
  readonly from: string;
}

export interface ProjectSignals {
  readonly packageManager: PackageManager | null;
  /** In a fixed order, at most one of each role from each source. */
  readonly commands: readonly ProjectCommand[];
}

const MAX_BYTES = 1024 * 1024;
const ROLES: readonly Role[] = ['tests', 'types', 'lint', 'build'];

const LOCK_FILES: readonly (readonly [PackageManager, readonly string[]])[] = [
  ['pnpm', ['pnpm-lock.yaml']],
  ['yarn', ['yarn.lock']],
  ['bun', ['bun.lock', 'bun.lockb']],
  ['npm', ['package-lock.json', 'npm-shrinkwrap.json']],
];

/** Usual script and target names of a role, the most specific first. */
const NAMES: Readonly<Record<Role, readonly string[]>> = {
  tests: ['test', 'tests'],
  types: ['typecheck', 'type-check', 'check-types', 'check:types', 'types', 'tsc'],
  lint: ['lint'],
  build: ['build'],
};

/** Reads from the files in the project's root how its work can be checked; runs nothing. */
export function projectSignals(projectDir: string): ProjectSignals {
  const has = (name: string): boolean => existsSync(join(projectDir, name));
  const read = (name: string): string => readRegularFile(join(projectDir, name), MAX_BYTES) ?? '';
  const packageManager = has('package.json') ? managerOf(has, read) : null;
  return {
    packageManager,
    commands: [
      ...(packageManager === null ? [] : scriptsOf(projectDir, packageManager)),
      ...(has('Cargo.toml') ? given('Cargo.toml', { tests: 'cargo test', build: 'cargo build' }) : []),
      ...(has('go.mod')
        ? given('go.mod', { tests: 'go test ./...', lint: 'go vet ./...', build: 'go build ./...' })
        : []),
      ...pythonCommands(has, read),
      ...makeCommands(has, read),
    ],
  };
}

type Has = (name: string) => boolean;
type Read = (name: string) => string;

/** By the lock file, else by package.json, else npm. */
function managerOf(has: Has, read: Read): PackageManager {
  const locked = LOCK_FILES.find(([, names]) => names.some(has))?.[0];
  if (locked !== undefined) return locked;
  const said = /"packageManager"\s*:\s*"(npm|pnpm|yarn|bun)@/.exec(read('package.json'))?.[1];
  return (said as PackageManager | undefined) ?? 'npm';
}

function scriptsOf(projectDir: string, manager: PackageManager): ProjectCommand[] {
  return ROLES.flatMap((role): ProjectCommand[] => {
    const name = NAMES[role].find((candidate) => isUsable(packageScript(projectDir, 'package.json', candidate)));
    // `bun test` is bun's own runner, not the script.
    const short = name === 'test' && manager !== 'bun';
    const run = `${manager} ${short ? name : `run ${name}`}`;
    return name === undefined ? [] : [{ role, run, from: 'package.json' }];
  });
}

/** A placeholder script, or one that never ends, checks nothing. */
function isUsable(script: string | null): boolean {
  return script !== null && script.trim() !== '' && !/no test specified|--watch(?!=false|All=false)\b/.test(script);
}

function pythonCommands(has: Has, read: Read): ProjectCommand[] {
  const [pyproject, setup, tox] = [read('pyproject.toml'), read('setup.cfg'), read('tox.ini')];
  const names = (text: string, pattern: RegExp): boolean => pattern.test(text);
  const pytest =
    has('pytest.ini') ||
    has('conftest.py') ||
    has('tests/conftest.py') ||
    names(pyproject, /^\[tool\.pytest|\bpytest\b/m) ||
    names(setup, /^\[tool:pytest\]/m) ||
    names(tox, /^\[pytest\]/m) ||
    names(read('requirements-dev.txt'), /^pytest\b/m) ||
    names(read('requirements.txt'), /^pytest\b/m);
  const ruff = has('ruff.toml') || has('.ruff.toml') || names(pyproject, /^\[tool\.ruff/m);
  const mypy = has('mypy.ini') || has('.mypy.ini') || names(pyproject, /^\[tool\.mypy/m) || names(setup, /^\[mypy/m);
  const by = pythonRunner(has);
  return given('python', {
    ...(pytest ? { tests: by === '' ? 'python3 -m pytest' : `${by}pytest` } : {}),
    ...(mypy ? { types: `${by}mypy .` } : {}),
    ...(ruff ? { lint: `${by}ruff check .` } : {}),
  });
}

function pythonRunner(has: Has): string {
  if (has('uv.lock')) return 'uv run ';
  if (has('poetry.lock')) return 'poetry run ';
  if (has('pdm.lock')) return 'pdm run ';
  return has('Pipfile.lock') ? 'pipenv run ' : '';
}

function makeCommands(has: Has, read: Read): ProjectCommand[] {
  const file = ['GNUmakefile', 'makefile', 'Makefile'].find(has);
  if (file === undefined) return [];
  const targets = new Set(
    [...read(file).matchAll(/^([\w.\-/ ]{1,200}):(?!=)/gm)].flatMap(([, names = '']) => names.trim().split(/ +/)),
  );
  return ROLES.flatMap((role): ProjectCommand[] => {
    const name = NAMES[role].find((candidate) => targets.has(candidate));
    return name === undefined ? [] : [{ role, run: `make ${name}`, from: 'make' }];
  });
}

function given(from: string, commands: Partial<Record<Role, string>>): ProjectCommand[] {
  return ROLES.flatMap((role) => {
    const run = commands[role];
    return run === undefined ? [] : [{ role, run, from }];
  });
}
