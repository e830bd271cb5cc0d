import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import picomatch from 'picomatch';
import { ifOutOfReach, readRegularFile } from '../../state/files/regular-file.ts';
import { onPath } from '../../state/process/find-program.ts';
import { readYaml } from '../frontmatter/read-yaml.ts';
import { MADE_BY_TOOLS } from '../left-out.ts';
import { type GoalProgram, goalFile, goalRules } from '../pinned-scripts/makefile.ts';
import { packageScripts, readPackage } from '../pinned-scripts/package-scripts.ts';
import { repositoryRoot } from '../project-file.ts';
import { ECOSYSTEMS, type Ecosystem, type Role, type Sign } from './ecosystems.ts';

export interface ProjectCommand {
  readonly role: Role;
  readonly run: string;
  /** Source: `package.json`, `make`, `just`, `task`, or the name of an ecosystem. */
  readonly from: string;
}

export interface ProjectSignals {
  /** Commands by role, at most one for each role and source. */
  readonly commands: readonly ProjectCommand[];
  /** Commands that were found but left out, each with its reason. */
  readonly leftOut: readonly string[];
  readonly tests: readonly string[];
  /** Without commands: the nearest folder above, in the repository, that has some. */
  readonly above?: string | null;
}

const MAX_BYTES = 1024 * 1024;
const ROLES: readonly Role[] = ['tests', 'types', 'lint', 'build', 'audit'];

const LOCK_FILES: readonly (readonly [manager: string, names: readonly string[]])[] = [
  ['pnpm', ['pnpm-lock.yaml', 'pnpm-workspace.yaml']],
  ['yarn', ['yarn.lock']],
  ['bun', ['bun.lock', 'bun.lockb']],
  ['npm', ['package-lock.json', 'npm-shrinkwrap.json']],
];

/** Usual names of scripts or targets by role, the most specific first. `check` counts as tests if there are no others. */
const NAMES: Readonly<Record<Role, readonly string[]>> = {
  tests: ['test', 'tests', 'test:unit', 'test-unit', 'unit', 'test:ci', 'check'],
  types: ['typecheck', 'type-check', 'check-types', 'check:types', 'types', 'tsc'],
  lint: ['lint', 'check'],
  build: ['build'],
  audit: [],
};

/** Finds commands that check the work in the files of the project's root; runs nothing. */
export function projectSignals(projectDir: string, env: NodeJS.ProcessEnv = process.env): ProjectSignals {
  const project = projectFiles(projectDir);
  const scripts = scriptCommands(project);
  const found = [
    ...scripts,
    ...RUNNERS.flatMap((program) => targetCommands(program, project)),
    ...ECOSYSTEMS.flatMap((one) => ecosystemCommands(one, project)),
  ];
  const leftOut: string[] = [];
  const commands = found.filter((command) => {
    const why = reasonToLeaveOut(command, found, env);
    if (why !== null) leftOut.push(`${command.run} (${why})`);
    return why === null;
  });
  const above = commands.length === 0 ? folderAbove(projectDir, env) : null;
  return { commands, leftOut, tests: testFiles(projectDir), above };
}

function folderAbove(dir: string, env: NodeJS.ProcessEnv): string | null {
  const [parent, root] = [dirname(dir), repositoryRoot(dir)];
  if (root === null || repositoryRoot(parent) !== root) return null;
  const { commands, above = null } = projectSignals(parent, env);
  return commands.length > 0 ? parent : above;
}

/** Returns the commands that check the work, without those that need the network. */
export function projectChecks(projectDir: string, env: NodeJS.ProcessEnv): string[] {
  return projectSignals(projectDir, env).commands.flatMap(({ role, run }) => (role === 'audit' ? [] : [run]));
}

const RUNNERS = ['just', 'make', 'task'] as const;
const LANGUAGES = new Set(ECOSYSTEMS.map(({ from }) => from));

/** Returns why a command is left out: a target of the project beats a usual command, and a package.json script beats both. */
function reasonToLeaveOut({ role, run, from }: ProjectCommand, all: readonly ProjectCommand[], env: NodeJS.ProcessEnv) {
  const at = (RUNNERS as readonly string[]).indexOf(from);
  const rivals = at !== -1 ? ['package.json', ...RUNNERS.slice(0, at)] : LANGUAGES.has(from) ? RUNNERS : [];
  const rival = all.find((other) => other.role === role && rivals.some((name) => name === other.from));
  if (rival !== undefined) return `${rival.run} is chosen`;
  if (!LANGUAGES.has(from) || role === 'tests') return null;
  const program = run === 'cargo clippy' ? 'cargo-clippy' : (run.split(' ')[0] ?? '');
  const isToolchain = all.some(
    (other) => other.from === from && other.role === 'tests' && other.run.startsWith(program),
  );
  return isToolchain || role === 'build' || onPath(program, env) !== null ? null : `${program} is not on the PATH`;
}

/** Names commands by role: `tests`, and `tests-make` for a second source. */
export function namedCommands(commands: readonly ProjectCommand[]): (ProjectCommand & { readonly name: string })[] {
  const taken = new Set<string>();
  return commands.map((command) => {
    const { role, from } = command;
    const name = taken.has(role) ? `${role}-${from.replace(/\..*$/, '').toLowerCase()}` : role;
    taken.add(name);
    return { ...command, name };
  });
}

type Project = ReturnType<typeof projectFiles>;

function projectFiles(dir: string) {
  const matching = (name: string): string[] => {
    if (!name.includes('*')) return existsSync(join(dir, name)) ? [name] : [];
    const folder = name.includes('/') ? name.slice(0, name.lastIndexOf('/') + 1) : '';
    const entries = ifOutOfReach(() => readdirSync(join(dir, folder)), []);
    return entries.map((entry) => folder + entry).filter((path) => picomatch.isMatch(path, name));
  };
  const read = (name: string): string => readRegularFile(join(dir, name), MAX_BYTES) ?? '';
  const shows = (sign: Sign): boolean =>
    typeof sign === 'string' ? matching(sign).length > 0 : matching(sign[0]).some((name) => sign[1].test(read(name)));
  return { dir, matching, read, shows };
}

function ecosystemCommands({ from, when, commands, by = [] }: Ecosystem, project: Project): ProjectCommand[] {
  if (!when.some(project.shows)) return [];
  const prefix = by.find(([, file]) => project.shows(file))?.[0] ?? '';
  return ROLES.flatMap((role) => {
    const row = commands.find(([own, , ...signs]) => own === role && (signs.length === 0 || signs.some(project.shows)));
    if (row === undefined) return [];
    const run = row[1].replace('$by ', prefix);
    return [{ role, run: run === 'pytest' ? 'python3 -m pytest' : run, from }];
  });
}

/** Returns the commands with usual names, each name for one role. */
function named(from: string, names: ReadonlySet<string>, run: (name: string) => string): ProjectCommand[] {
  const taken = new Set<string>();
  return ROLES.flatMap((role) => {
    const name = NAMES[role].find((candidate) => names.has(candidate) && !taken.has(candidate));
    if (name === undefined) return [];
    taken.add(name);
    return [{ role, run: run(name), from }];
  });
}

function targetCommands(program: GoalProgram, { dir, read }: Project): ProjectCommand[] {
  const file = goalFile(program, dir);
  const goals = file === undefined ? [] : goalRules(program, [read(file)]).keys();
  return named(program, new Set(goals), (name) => `${program} ${name}`);
}

function scriptCommands(project: Project): ProjectCommand[] {
  if (!project.shows('package.json')) return [];
  const { locked, manager } = packageManager(project.dir);
  const own = usableScripts(project, 'package.json');
  // `bun test` is bun's own runner, not the script.
  const commands = named('package.json', own, (name) =>
    name === 'test' && manager !== 'bun' ? `${manager} test` : `${manager} run ${name}`,
  );
  const taken = new Set(commands.map(({ role }) => role));
  const inner = new Set(workspaces(project).flatMap((folder) => [...usableScripts(project, `${folder}/package.json`)]));
  const inWorkspaces = named('package.json', inner, (name) => workspaceRun(manager, project)(name));
  const all = [...commands, ...inWorkspaces.filter(({ role }) => !taken.has(role))];
  const audit = locked === 'npm' || locked === 'pnpm' ? [{ role: 'audit' as const, run: `${locked} audit` }] : [];
  return [...all, ...audit.map((command) => ({ ...command, from: 'package.json' }))];
}

/** Returns the package manager of a project: `locked` by its lock file, or else the one that package.json names, or npm. */
export function packageManager(dir: string) {
  const { shows } = projectFiles(dir);
  const locked = LOCK_FILES.find(([, names]) => names.some(shows))?.[0];
  const [, said] = /^(npm|pnpm|yarn|bun)@/.exec(String(readPackage(dir, 'package.json').packageManager)) ?? [];
  return { locked, manager: locked ?? said ?? 'npm' };
}

/** Returns the scripts that can check something: without placeholders and scripts that never end. */
function usableScripts({ dir }: Project, path: string): Set<string> {
  const usable = Object.entries(packageScripts(dir, path)).filter(
    ([, script]) => script.trim() !== '' && !/no test specified|--watch(?!=false|All=false)\b/.test(script),
  );
  return new Set(usable.map(([name]) => name));
}

function workspaces({ dir, matching, read }: Project): string[] {
  const { workspaces: own } = readPackage(dir, 'package.json');
  const { packages: ofPnpm } = (readYaml(read('pnpm-workspace.yaml')).mapping ?? {}) as { packages?: unknown };
  const globs = [own, (own as { packages?: unknown } | undefined)?.packages, ofPnpm].find(Array.isArray) ?? [];
  return globs
    .filter((glob) => typeof glob === 'string')
    .flatMap((glob) => matching(glob.replace(/^\.\/|\/$/g, '').replace(/\*\*$/, '*')));
}

function workspaceRun(manager: string, { shows }: Project): (name: string) => string {
  switch (manager) {
    case 'pnpm':
      return (name) => `pnpm -r run ${name}`;
    case 'yarn':
      return (name) =>
        shows('.yarnrc.yml') ? `yarn workspaces foreach -A run ${name}` : `yarn workspaces run ${name}`;
    case 'bun':
      return (name) => `bun run --filter '*' ${name}`;
    default:
      return (name) => `npm run ${name} --workspaces --if-present`;
  }
}

const FOLDERS = ['test', 'tests', 'spec', '__tests__', 'e2e'];
/** Patterns for tests beside the code, each with its glob. */
const TEST_NAMES: readonly (readonly [RegExp, glob: string])[] = [
  [/\.test\.\w+$/, '**/*.test.*'],
  [/\.spec\.\w+$/, '**/*.spec.*'],
  [/_test\.\w+$/, '**/*_test.*'],
  [/^test_.+\.py$/, '**/test_*.py'],
];
const DEPTH = 4;
const MOST_ENTRIES = 5000;

/** Returns globs of the project's tests: its test folders, and name patterns elsewhere. */
function testFiles(projectDir: string): string[] {
  const found = new Set<string>();
  let left = MOST_ENTRIES;
  const look = (folder: string, depth: number): void => {
    // Inaccessible folders are skipped.
    for (const entry of ifOutOfReach(() => readdirSync(join(projectDir, folder), { withFileTypes: true }), [])) {
      left -= 1;
      if (left < 0) return;
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (!entry.isDirectory()) {
        for (const [name, glob] of TEST_NAMES) if (name.test(entry.name)) found.add(glob);
      } else if (depth === 0 && FOLDERS.includes(entry.name)) found.add(`${entry.name}/**`);
      else if (depth < DEPTH && !entry.name.startsWith('.') && !MADE_BY_TOOLS.includes(entry.name))
        look(path, depth + 1);
    }
  };
  look('', 0);
  return [...found].sort();
}
