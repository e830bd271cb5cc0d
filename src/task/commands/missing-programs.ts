import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, join, relative, resolve, sep } from 'node:path';
import picomatch from 'picomatch';
import type { CheckResult } from '../../engine/events.ts';
import type { CommandDefinition, Contract } from '../../engine/schema/contract.ts';
import { readRecord, readRegularFile, realPathOf } from '../../state/files/regular-file.ts';
import { onPath } from '../../state/process/find-program.ts';
import { shellWord } from '../../text/quote.ts';
import { forEachChild, MAX_SHELL_TEXT, parseShell, type SyntaxNode } from '../../text/shell/parse-shell.ts';
import { packageManager, projectChecks } from '../draft/project-signals.ts';
import { suggestion } from '../frontmatter/canonical-keys.ts';
import { type KeyProblem, keyPath } from '../frontmatter/problem.ts';
import type { Frontmatter } from '../frontmatter/schema.ts';
import { fileRoles } from '../pinned-scripts/file-roles.ts';
import { GOAL_PROGRAMS, goalFile, goalRules } from '../pinned-scripts/makefile.ts';
import { packageScripts, scriptCall } from '../pinned-scripts/package-scripts.ts';

/** Warns about commands of a task file that cannot run here: a missing program, npm script or make target. */
export function missingPrograms(settings: Frontmatter, place: ProjectPlace): KeyProblem[] {
  const setUp = { keys: ['worktree_setup'], run: settings.worktree_setup ?? '' };
  const missing = [...writtenCommands(settings), setUp].flatMap(({ keys, run }) =>
    missingIn(run, place).flatMap(({ kind, why, hint = '' }): KeyProblem[] => {
      const message = `${keyPath(keys)} cannot run here: ${why}${hint}`;
      // The task may have to create a file of the project.
      return kind === 'file' || kind === 'argument'
        ? []
        : [{ keys, value: run, rule: 'missing-command', message, severity: 'warning' }];
    }),
  );
  return [...missing, ...templateCheck(settings, place)];
}

/** Warns about the check in our template for a prompt file, which never passes. */
function templateCheck({ validation = [] }: Frontmatter, { dir, env }: ProjectPlace): KeyProblem[] {
  const at = validation.findIndex((entry) => typeof entry !== 'string' && entry.name === 'fill-me-in');
  if (at === -1) return [];
  const message = `validation[${at}] is the template's and never passes. Write your commands there.${have(projectChecks(dir, env))}`;
  return [{ keys: ['validation', at], value: 'fill-me-in', rule: 'template-check', message, severity: 'warning' }];
}

const have = (commands: readonly string[]): string =>
  commands.length === 0 ? '' : ` The project has: ${commands.join(', ')}.`;

/** Lists the commands under `validation` and `commands` with their keys. `isCheck`: a completion requires it. */
export function writtenCommands({ validation, commands }: Frontmatter) {
  return [
    ...(validation ?? []).map((entry, index) =>
      typeof entry === 'string'
        ? { keys: ['validation', index], run: entry, isCheck: true }
        : { keys: ['validation', index, 'run'], run: entry.run, isCheck: true },
    ),
    ...(commands ?? []).map(({ run, acceptance }, index) => ({
      keys: ['commands', index, 'run'],
      run,
      isCheck: acceptance === true,
    })),
  ];
}

/** Returns what the simple commands of a shell text lack in this folder. Runs nothing of the project. */
function missingIn(run: string, place: ProjectPlace): Missing[] {
  const entersFolder = /\bcd\b/.test(run);
  return commandsOf(run).flatMap((words) => missing(words, place, entersFolder) ?? []);
}

/** Returns the simple commands of a shell text as words; none if it defines functions or is too long. */
function commandsOf(run: string): string[][] {
  const found: string[][] = [];
  if (run.length > MAX_SHELL_TEXT || /\(\s*\)\s*\{|\balias\b/.test(run)) return found;
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Command') {
      const words = node.suffix.flatMap((part) => (part.type === 'Word' ? [part.value] : []));
      found.push([node.name?.value ?? '', ...words]);
    }
    forEachChild(node, visit);
  };
  try {
    visit(parseShell(run));
  } catch {
    return found; // nested too deeply for the parser
  }
  return found.filter(([name = '']) => /^[\w.+/-]+$/.test(name));
}

const BUILT_IN = new Set(
  '. : [ alias bg break builtin cd command continue declare echo eval exec exit export false fg getopts hash jobs kill let local mapfile popd printf pushd pwd read readonly return set shift shopt source test time times trap true type typeset ulimit umask unalias unset wait'.split(
    ' ',
  ),
);

function missing(words: readonly string[], place: ProjectPlace, entersFolder: boolean): Missing | null {
  const { dir, env } = place;
  const [name = '', ...rest] = words;
  if (!name.includes('/') && !BUILT_IN.has(name) && process.platform !== 'win32' && onPath(name, env) === null)
    return { kind: 'program', name, why: `the program "${name}" is not on the PATH.`, files: [] };
  if (/^python[\d.]*$/.test(name) && rest[0] === '-m' && rest[1] !== undefined)
    return missingModule(name, rest[1], place);
  if (entersFolder) return null;
  if (name.includes('/')) return missingFile('file', name, dir);
  if (name === 'make' || name === 'gmake') return missingTarget(rest, dir);
  return missingArgument(words, dir) ?? missingScript(words, place);
}

function missingFile(kind: 'file' | 'argument', name: string, dir: string): Missing | null {
  const path = resolve(dir, name);
  if (existsSync(path)) return null;
  return { kind, name, why: `there is no file ${name}.`, files: [relative(dir, path).split(sep).join('/')] };
}

const PYTHON_MS = 5_000;
const NO_MODULE = 3;

/** Returns why Python does not find a module, or null. Runs nothing of the project, not even a shadowing module. */
function missingModule(python: string, module: string, { dir, env }: ProjectPlace): Missing | null {
  const [top = ''] = module.split('.');
  const code = [
    "import sys; sys.path[:] = [each for each in sys.path if each]; import importlib.util; sys.path.insert(0, '')",
    `sys.exit(${NO_MODULE} if importlib.util.find_spec(sys.argv[1]) is None else 0)`,
  ].join('; ');
  const options = { cwd: dir, env: { ...env }, stdio: 'ignore', timeout: PYTHON_MS } as const;
  const isMissing = spawnSync(python, ['-c', code, top], options).status === NO_MODULE;
  if (!isMissing) return null;
  const why = `${python} has no module "${top}".`;
  const hint = ' Install it, or activate the environment that has it.';
  return { kind: 'module', name: top, why, hint, files: [`${top}.py`, `${top}/__init__.py`, `${top}/__main__.py`] };
}

const ANY_PACKAGE = /^(?:-w|--workspaces?|--filter|-F|-r|--recursive|--if-present|--prefix|-C|--dir|--cwd)(?:=|$)/;

function missingScript(words: readonly string[], place: ProjectPlace): Missing | null {
  const { dir, env } = place;
  const call = scriptCall(words);
  if (call === null || words.some((word) => ANY_PACKAGE.test(word))) return null;
  const { script } = call;
  const scripts = packageScripts(dir, 'package.json');
  const names = Object.keys(scripts);
  // What it runs, unless that is another script.
  const inner = call.directory === null && !/\b(?:npm|pnpm|yarn|bun)\b/.test(scripts[script] ?? '') && scripts[script];
  if (inner) return missingIn(inner, place).find(({ kind }) => kind === 'argument') ?? null;
  const isThere = existsSync(join(dir, 'package.json'));
  if (names.includes(script) || (script === 'start' && isThere && existsSync(join(dir, 'server.js')))) return null;
  const why = isThere ? `package.json has no script "${script}".` : 'the project has no package.json.';
  // A package of a workspace may have it, or a Makefile may have a target of that name.
  const others = projectChecks(dir, env).filter((run) => run.split(' ').includes(script));
  const hint = have(others) || suggestion(script, names);
  return { kind: 'script', name: script, why, hint, files: ['package.json'] };
}

function missingTarget(words: readonly string[], dir: string): Missing | null {
  if (words.some((word) => /^-[Cf]|^--(?:file|directory|makefile)/.test(word))) return null;
  const file = goalFile('make', dir);
  if (file === undefined)
    return { kind: 'target', name: '', why: 'the project has no makefile.', files: GOAL_PROGRAMS.make.files };
  const text = readRegularFile(join(dir, file), 1024 * 1024) ?? '';
  // Included or computed rules cannot be listed.
  if (/^-?include\s|^[^\t#=\n]*[%$][^=\n]*:(?!=)/m.test(text)) return null;
  const targets = goalRules('make', [text]);
  const unknown = words.find((word) => /^[\w.-]+$/.test(word) && !word.startsWith('-') && !targets.has(word));
  if (unknown === undefined || existsSync(join(dir, unknown))) return null;
  const why = `the ${file} has no target "${unknown}".`;
  return { kind: 'target', name: unknown, why, hint: suggestion(unknown, [...targets.keys()]), files: [file] };
}

export interface ProjectPlace {
  readonly dir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Something that a command needs and does not find. */
interface Missing {
  /** `argument`: a script for an interpreter to run. */
  readonly kind: 'program' | 'file' | 'module' | 'script' | 'target' | 'argument';
  readonly name: string;
  readonly why: string;
  /** Advice after it, in a sentence that begins with a space. */
  readonly hint?: string;
  /** Project files that would provide it. */
  readonly files: readonly string[];
}

/** Returns the script for an interpreter to run if it does not exist; else null. */
function missingArgument(words: readonly string[], dir: string): Missing | null {
  const [script] = fileRoles(words, (word) => existsSync(resolve(dir, word))).runs;
  return script !== undefined && /^[\w@+/.-]*\.\w+$/.test(script) ? missingFile('argument', script, dir) : null;
}

const NOT_THERE =
  /cannot find|can't (?:open|find)|cannot open|could not (?:open|find|be found)|not found|no such file/i;

/** Returns whether a command's output says, in the words of its interpreter, that this script does not exist. */
function isSaid({ name }: Pick<Missing, 'name'>, output: string, { dir }: Pick<ProjectPlace, 'dir'>): boolean {
  const names = [name, resolve(dir, name), resolve(realPathOf(dir) ?? dir, name)];
  const said = output.split('\n').filter((line) => NOT_THERE.test(line));
  return said.some((line) => line.split(/['"`\s:]+/).some((word) => names.includes(word)));
}

const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;

/**
 * Returns why a check could not run at all or gives no verdict, with a line that would help; null otherwise. If the missing thing belongs in a
 * file under `may_change`, or one that the `task` names, creating it is the task: that check has failed.
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
  // If an earlier command was to create a script, it is missing as well, but its interpreter does not say so.
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
  return `${name} cannot run: ${said} (exit code ${exitCode}).${correction(exitCode, run, said, place)}`;
}

/** Output of a package manager that does not find a script. The package may be known only from the command. */
const NO_SCRIPT =
  /^(?:npm (?:error|ERR!) Missing script: |.*\bERR_PNPM_NO_SCRIPT\b.* Missing script: |error: Script not found |error Command (?=.* not found)|Usage Error: Couldn't find a script named )"?([\w:.-]+)/m;

/** Pattern for a glob that may match the package.json of a package. */
const OF_A_PACKAGE = /(?:^|\/)(?:package\.json|\*+(?:\.json)?)$/;

function saidScript(output: string, mayChange: readonly string[]): Missing | undefined {
  const name = NO_SCRIPT.exec(output)?.[1]?.replace(/\.$/, '');
  if (name === undefined) return undefined;
  const files = ['package.json', ...mayChange.filter((path) => OF_A_PACKAGE.test(path))];
  return { kind: 'script', name, why: `no package.json that it reads has a script "${name}".`, hint: '', files };
}

function correction(exitCode: number, run: string, said: string, place: ProjectPlace): string {
  const { dir } = place;
  // A script may call a program that is not installed.
  const name = /([\w.@-]+): (?:command )?not found$/.exec(said)?.[1];
  if (exitCode === NOT_FOUND && name !== undefined) return help({ kind: 'program', name, why: said, files: [] }, place);
  const file = run.split(/\s+/).find((word) => word.includes('/') && existsSync(join(dir, word)));
  const isClosed = exitCode === NOT_EXECUTABLE && file !== undefined;
  return isClosed ? ` Make the file executable: chmod +x ${shellWord(file)}` : ' Correct the command.';
}

/** Python packages whose program has the package's name. */
const OF_PYTHON = new Set(
  'pytest ruff mypy pyright black flake8 pylint isort coverage tox nox pre-commit uv poetry'.split(' '),
);
const OF_NPM: Readonly<Record<string, string>> = {
  tsc: 'typescript',
  biome: '@biomejs/biome',
  ...Object.fromEntries(
    'eslint prettier jest vitest mocha ava c8 nyc playwright'.split(' ').map((name) => [name, name]),
  ),
};

/** Returns a sentence with the line that installs what is missing, or on how to correct the command. */
function help({ kind, name, hint = '', files }: Missing, { dir, env }: ProjectPlace): string {
  const { manager } = packageManager(dir);
  switch (kind) {
    case 'program': {
      if (existsSync(join(dir, 'node_modules', '.bin', name))) return ` Write: npx ${name}`;
      if (isDependency(dir, OF_NPM[name] ?? name)) return ` Install it: ${manager} install`;
      if (OF_PYTHON.has(name)) return ` Install it: python3 -m pip install ${name}`;
      if (OF_NPM[name] !== undefined)
        return ` Install it: ${manager} ${manager === 'npm' ? 'install' : 'add'} -D ${OF_NPM[name]}`;
      if (name === 'pnpm' || name === 'yarn' || name === 'bun') return ` Install it: npm install --global ${name}`;
      return ' Install it, or correct the command.';
    }
    case 'module': {
      const own = ['.venv', 'venv'].find((folder) => existsSync(join(dir, folder, 'bin', 'activate')));
      if (own !== undefined && env['VIRTUAL_ENV'] === undefined)
        return ` Activate its environment: . ${own}/bin/activate`;
      return ` Install it: python3 -m pip install ${name}`;
    }
    case 'file':
    case 'argument':
      if (/(?:^|\/)node_modules\//.test(name)) return ` Install the dependencies: ${manager} install`;
      return ` Correct the path; if the task creates it, name it there or list it under "may_change": [${files.join()}]`;
    case 'script':
    case 'target':
      return `${hint} Correct the command; if the task adds it, list ${files.join(' or ')} under "may_change".`;
    default:
      return kind satisfies never;
  }
}

function isDependency(dir: string, name: string): boolean {
  const found = readRecord<Record<string, object>>(join(dir, 'package.json')) ?? {};
  return ['dependencies', 'devDependencies'].some((key) => Object.hasOwn(found[key] ?? {}, name));
}
