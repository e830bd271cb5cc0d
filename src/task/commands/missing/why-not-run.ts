import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import picomatch from 'picomatch';
import type { CheckResult } from '../../../engine/events.ts';
import type { CommandDefinition, Contract } from '../../../engine/schema/contract.ts';
import { readRecord } from '../../../state/files/regular-file.ts';
import { shellWord } from '../../../text/quote.ts';
import { isSaid, type Missing, missingIn, type ProjectPlace } from './missing-programs.ts';

const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;

/**
 * Returns why a check could not run at all, or gives no verdict, with the line that would help; null otherwise. What a file under `may_change`, or
 * one that the `task` names, has to bring is left to the task: such a check has failed.
 */
export function whyNotRun(
  { name, outcome, exitCode, detail, tests, refutesOnly }: CheckResult,
  { run }: Pick<CommandDefinition, 'run'>,
  place: ProjectPlace,
  { mayChange = [], task = '' }: Pick<Contract, 'mayChange'> & { readonly task?: string },
): string | null {
  if (refutesOnly) return null;
  if (outcome === 'unavailable') return `${name}: ${detail}`;
  if (exitCode === undefined) return null;
  const isNoProgram = exitCode === NOT_FOUND || exitCode === NOT_EXECUTABLE;
  // A script that an earlier command was to make is missing as well; then its interpreter says nothing.
  const known = missingIn(run, place).find((each) =>
    each.kind === 'argument' ? isSaid(each, detail, place) : isNoProgram || !['program', 'file'].includes(each.kind),
  );
  const found = known ?? (tests === undefined ? saidScript(detail, mayChange) : undefined);
  if (found !== undefined) {
    const isFree = picomatch([...mayChange], { dot: true });
    const isNamed = (path: string): boolean => !existsSync(join(place.dir, path)) && task.includes(basename(path));
    return found.files.some((path) => isFree(path) || isNamed(path))
      ? null
      : `${name} cannot run: ${found.why}${help(found, place)}`;
  }
  if (!isNoProgram) return null;
  const said = detail.trimEnd().replace(/^.*\n|\.$/gs, '');
  return `${name} cannot run: ${said} (exit code ${exitCode}). ${correction(exitCode, run, place)}`;
}

/** What a package manager says of a script that it does not find: which package it looks in, the command alone may know. */
const NO_SCRIPT =
  /^(?:npm (?:error|ERR!) Missing script: |.*\bERR_PNPM_NO_SCRIPT\b.* Missing script: |error: Script not found |error Command (?=.* not found)|Usage Error: Couldn't find a script named )"?([\w:.-]+)/m;

/** A glob that may mean the package.json of a package. */
const OF_A_PACKAGE = /(?:^|\/)(?:package\.json|\*+(?:\.json)?)$/;

function saidScript(output: string, mayChange: readonly string[]): Missing | undefined {
  const name = NO_SCRIPT.exec(output)?.[1]?.replace(/\.$/, '');
  if (name === undefined) return undefined;
  const files = ['package.json', ...mayChange.filter((path) => OF_A_PACKAGE.test(path))];
  return { kind: 'script', name, why: `no package.json that it reads has a script "${name}".`, hint: '', files };
}

function correction(exitCode: number, run: string, { dir }: ProjectPlace): string {
  const file = run.split(/\s+/).find((word) => word.includes('/') && existsSync(join(dir, word)));
  const isClosed = exitCode === NOT_EXECUTABLE && file !== undefined;
  return isClosed ? `Make the file executable: chmod +x ${shellWord(file)}` : 'Correct the command.';
}

/** Packages of Python whose program has their name. */
const OF_PYTHON = new Set(
  'pytest ruff mypy pyright black flake8 pylint isort coverage tox nox pre-commit uv poetry'.split(' '),
);
const OF_NPM: Readonly<Record<string, string>> = {
  tsc: 'typescript',
  eslint: 'eslint',
  prettier: 'prettier',
  biome: '@biomejs/biome',
  jest: 'jest',
  vitest: 'vitest',
  mocha: 'mocha',
  ava: 'ava',
  c8: 'c8',
  nyc: 'nyc',
  playwright: 'playwright',
};
const LOCKS = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
] as const;

/** Returns a sentence with the line that installs what is missing, or says how to correct the command. */
function help({ kind, name, hint = '', files }: Missing, { dir }: ProjectPlace): string {
  switch (kind) {
    case 'program': {
      if (existsSync(join(dir, 'node_modules', '.bin', name))) return ` Write: npx ${name}`;
      if (isDependency(dir, OF_NPM[name] ?? name)) return ` Install it: ${managerOf(dir)} install`;
      if (OF_PYTHON.has(name)) return ` Install it: python3 -m pip install ${name}`;
      if (OF_NPM[name] !== undefined) return ` Install it: npm install --save-dev ${OF_NPM[name]}`;
      if (name === 'pnpm' || name === 'yarn' || name === 'bun') return ` Install it: npm install --global ${name}`;
      return ' Install it, or correct the command.';
    }
    case 'module':
      return ` Install it: python3 -m pip install ${name}`;
    case 'file':
    case 'argument':
      if (/(?:^|\/)node_modules\//.test(name)) return ` Install the dependencies: ${managerOf(dir)} install`;
      return ` Correct the path; if the task creates it, name it there or list it under "may_change": [${files.join()}]`;
    case 'script':
    case 'target':
      return `${hint} Correct the command; if the task adds it, list ${files.join(' or ')} under "may_change".`;
    default:
      return kind satisfies never;
  }
}

function managerOf(dir: string): string {
  return LOCKS.find(([file]) => existsSync(join(dir, file)))?.[1] ?? 'npm';
}

function isDependency(dir: string, name: string): boolean {
  const found = readRecord<Record<string, object>>(join(dir, 'package.json')) ?? {};
  return ['dependencies', 'devDependencies'].some((key) => Object.hasOwn(found[key] ?? {}, name));
}
