import { basename, dirname, join, resolve } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { FOLDS_CASE, realPath, realPaths } from '../../guard/comparable-path.ts';
import { compilePattern, formsBelow, pathForms } from '../../guard/files/path-pattern.ts';
import { picomatchGlob } from '../../guard/files/picomatch-glob.ts';
import { prepareGuard } from '../../guard/guard.ts';
import { namesIn, readRegularFile } from '../../state/files/regular-file.ts';
import { clientConfigDir, configFolder, homeFolder, managedDir } from '../../state/home-folder.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { runningBundle } from '../../state/process/program.ts';
import type { FileSet } from '../../state/snapshot/list-files.ts';
import type { Watch } from '../../state/snapshot/snapshot.ts';
import { changesOfUnchanged, readUnchanged } from '../../state/snapshot/unchanged-files.ts';
import { isLoopsOwn, MADE_BY_TOOLS } from '../../task/left-out.ts';
import { configFiles, DECISIONS, LEARNINGS, loopDirectory, progressPath, WORKTREES } from '../../task/task-file.ts';
import { changeList, PROTECTION_TEXTS } from './messages.ts';

/** Returns the files that the contract protects, and the loop's own files that it does not write itself. */
export function watchOf(files: LoopFiles, contract: Contract, env: NodeJS.ProcessEnv): Watch {
  const isOutside = outsideOf(files, gitFolder(files.projectDir), env);
  return {
    own: [...ownFiles(files, contract, env), ...startFiles(env).filter(isOutside)],
    protect: setOf(files, contract, homeFolder(env), contract.guardrails.protectedFiles),
    isOutside,
    // Settings of the client are compared by content.
    isKept: (path) => !isOutside(path) || CLIENT_SETTINGS.includes(basename(path)),
  };
}

/** Returns the git folder of a project; for a worktree, that of the main checkout. */
function gitFolder(projectDir: string): string {
  const ofWorktree = readRegularFile(join(projectDir, '.git'), 4096) ?? '';
  const [, link] = /^gitdir: (.+)\/worktrees\/[^/\n]+$/m.exec(ofWorktree) ?? [];
  return resolve(projectDir, link ?? '.git');
}

/** Returns the files that the contract requires to be unchanged. */
export function unchangedSet(files: LoopFiles, contract: Contract, env: NodeJS.ProcessEnv): FileSet {
  return setOf(files, contract, homeFolder(env), contract.unchanged ?? []);
}

/** Leaves out what the loop itself writes. */
function setOf(files: LoopFiles, contract: Contract, home: string, patterns: readonly string[]): FileSet {
  const found = fileSet(files.projectDir, home, patterns);
  const isKept = keptByLoop(files, contract);
  return {
    roots: found.roots,
    covers: (path) => found.covers(path) && !isKept(path),
    // Every turn changes the files that the loop writes, so each look would be a full examination.
    skips: (folder, names) => isKept(`${folder}/`) || found.skips(folder, names),
  };
}

/** Returns the files that these globs and policies of the user cover, as the guard reads them. */
export function fileSet(projectDir: string, home: string, patterns: readonly string[]): FileSet {
  const none = { ownFiles: [], controlProgram: [], agentCommands: [] };
  const guard = prepareGuard({ ...none, projectDir, home, caseInsensitive: FOLDS_CASE });
  const compiled = patterns.map((pattern) => compilePattern(pattern, guard, picomatchGlob));
  const real = realPath(projectDir);
  const roots = [...new Set(patterns.map((pattern) => rootOf(pattern, projectDir, home)))];
  const named = roots.filter((root) => root !== projectDir);
  return {
    roots,
    skips: (folder, names) =>
      (BY_TOOLS.has(basename(folder)) || names.includes('pyvenv.cfg')) &&
      !named.some((root) => `${folder}/`.startsWith(`${root}/`)),
    covers: (path) => {
      const rest = path.startsWith(`${projectDir}/`) ? path.slice(projectDir.length + 1) : null;
      const forms = rest === null ? pathForms(path, '/', guard) : formsBelow(rest, projectDir, real, guard);
      return compiled.some(({ covers }) => covers(forms));
    },
  };
}

const WILD = /[*?[\](){}!+@\\]/;

/** Returns the folder that contains all matches of a pattern: the part before its first wildcard. */
function rootOf(pattern: string, projectDir: string, home: string): string {
  const named = pattern.startsWith('~/') ? `${home}${pattern.slice(1)}` : pattern;
  if (pattern.startsWith('policy:') || !named.replace(/\/+$/, '').includes('/')) return projectDir;
  const segments = named.split('/');
  const wild = segments.findIndex((segment) => WILD.test(segment));
  const root = join(named.startsWith('/') ? '/' : projectDir, ...(wild === -1 ? segments : segments.slice(0, wild)));
  const path = root.length > 1 ? root.replace(/\/+$/, '') : root;
  // The whole home or disk is not searched: only the guard protects files there.
  return path === home || `${projectDir}/`.startsWith(path === '/' ? path : `${path}/`) ? projectDir : path;
}

/** Folders that package managers and compilers fill; many of their files are certificates and test keys. */
const BY_TOOLS = new Set([
  ...MADE_BY_TOOLS,
  ...'.venv venv .tox .nox .eggs vendor target deps Pods bower_components .gradle .bundle .yarn .terraform'.split(' '),
]);

/** Returns a test for files that the loop writes while it runs, and for other projects inside this one. */
function keptByLoop({ projectDir }: LoopFiles, { policy, taskPath }: Contract): (path: string) => boolean {
  const kept = new Set([LEARNINGS, DECISIONS, ...(policy.plan ? [taskPath, progressPath(taskPath)] : [])]);
  return (path) => {
    if (!path.startsWith(`${projectDir}/`)) return false;
    const rest = path.slice(projectDir.length + 1);
    const isOther = rest.startsWith(`${WORKTREES}/`) || rest.startsWith('.claude/worktrees/');
    return isOther || kept.has(rest) || isLoopsOwn(rest);
  };
}

/** Lists the loop's own files: settings and configuration even if they do not exist, the rest only if present. */
function ownFiles(files: LoopFiles, { bundleDir, taskPath }: Contract, env: NodeJS.ProcessEnv): readonly string[] {
  const { projectDir } = files;
  const claude = join(projectDir, '.claude');
  const user = clientConfigDir(env);
  const directory = loopDirectory(projectDir, taskPath);
  const named = [join(claude, 'skills', 'ralph-loop'), bundleDir, runningBundle()];
  const bundles = [...new Set(named.filter((path) => path !== null))];
  const real = realPaths();
  const project = real(projectDir);
  // Resolves links on the way to an own file; the project folder keeps its name.
  const placed = (folder: string): string => {
    const found = real(folder);
    return found === project ? projectDir : found.replace(`${project}/`, `${projectDir}/`);
  };
  const there = (folder: string, named: RegExp): string[] => {
    const names = namesIn(folder).filter((name) => named.test(name));
    const at = names.length === 0 ? '' : placed(folder);
    return names.map((name) => `${at}/${name}`);
  };
  const single = [
    ...CLIENT_SETTINGS.flatMap((name) => [join(claude, name), join(user, name)]),
    join(managedDir(), 'managed-settings.json'),
    ...Object.values(configFiles(projectDir, env)),
    ...(directory === null ? [] : [directory.config, directory.reflect]),
    // Through it, git would use an agent's settings and run their programs; the client's sandbox leaves it open.
    join(gitFolder(projectDir), 'commondir'),
  ];
  return [
    ...new Set([
      ...single.map((path) => join(placed(dirname(path)), basename(path))),
      ...there(join(claude, 'hooks'), /^ralph-/),
      ...there(join(claude, 'agents'), /^ralph-/),
      ...there(join(claude, 'ralph'), /^ralph-audit\./),
      ...bundles.flatMap((bundle) =>
        ['hooks', 'scripts'].flatMap((part) => there(join(bundle, part), /\.(?:cjs|json)$/)),
      ),
    ]),
  ];
}

/** Keys of the client's settings that decide what runs and what is allowed. */
const DECIDING =
  /^(?:hooks|disableAllHooks|env|permissions|sandbox|apiKeyHelper|aws\w+|gcp\w+|otel\w+|statusLine|enabledPlugins|extraKnownMarketplaces|\w*[mM]cp\w*|allowManagedHooksOnly)$/;

/**
 * Returns a test for whether a changed settings file of the client agrees with the original in everything protected. The
 * client and its user also write there: models and themes in the user's file and, if a person is present, permissions in the
 * project's file.
 */
export function sameSettings(
  { projectDir }: LoopFiles,
  { headless }: Contract,
  own: readonly string[],
): (path: string, before: Buffer | null, after: Buffer | null) => boolean {
  return (path, before, after) => {
    if (!CLIENT_SETTINGS.includes(basename(path)) || !own.includes(path)) return false;
    const isProjects = path.startsWith(`${projectDir}/`);
    const counts = (key: string): boolean => (isProjects || DECIDING.test(key)) && (headless || key !== 'permissions');
    const one = decidingPart(before, counts);
    return one !== null && one === decidingPart(after, counts);
  };
}

function decidingPart(content: Buffer | null, counts: (key: string) => boolean): string | null {
  try {
    const settings: unknown = content === null ? {} : JSON.parse(content.toString('utf8'));
    if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) return null;
    return JSON.stringify(
      Object.entries(settings)
        .filter(([key]) => counts(key))
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  } catch {
    return null; // not JSON: compare bytes
  }
}

/** Names of the client's settings files, in its folder and in a project's .claude. */
const CLIENT_SETTINGS: readonly string[] = ['settings.json', 'settings.local.json'];

/** Files of a home folder that decide what shells, git, ssh and package managers run or reach. */
const IN_HOME = `
.profile .bash_profile .bash_login .bashrc .bash_aliases .bash_logout .zshenv .zprofile .zshrc .zlogin .inputrc .pam_environment
.gitconfig .ssh/config .ssh/authorized_keys .ssh/rc .netrc .curlrc .wgetrc .vimrc .tmux.conf
.npmrc .yarnrc .yarnrc.yml .bunfig.toml .pypirc .condarc .gemrc .cargo/config.toml .gradle/init.gradle .m2/settings.xml .docker/config.json`
  .trim()
  .split(/\s+/);
/** The same below the folder of the user's configuration. */
const IN_CONFIG = ['git/config', 'fish/config.fish', 'pip/pip.conf', 'pnpm/rc', 'nushell/config.nu'];

/** Returns the real paths of the start files of the user's shells and tools, which a loop watches, whether or not they exist. */
export function startFiles(env: NodeJS.ProcessEnv): string[] {
  const home = homeFolder(env);
  const config = configFolder(env);
  return [...IN_HOME.map((name) => join(home, name)), ...IN_CONFIG.map((name) => join(config, name))].map(realPaths());
}

/**
 * Returns a test for files that a loop never writes, moves or deletes: everything outside the project and its repository
 * `gitDir`, and the user's client settings, which are in the project if that is the home folder.
 */
function outsideOf({ projectDir }: LoopFiles, gitDir: string, env: NodeJS.ProcessEnv): (path: string) => boolean {
  const real = realPaths();
  const both = (path: string): string[] => [path, real(path)];
  const users = CLIENT_SETTINGS.flatMap((name) => both(join(clientConfigDir(env), name)));
  const ours = [projectDir, gitDir].flatMap(both);
  return (path) => users.includes(path) || !ours.some((folder) => path.startsWith(`${folder}/`));
}

const UNCHANGED = 'unchanged';

/** Returns the files, relative to the project, that have to be as they were at the start. */
export function unchangedFiles(files: LoopFiles, contract: Contract): readonly string[] {
  const { unchanged } = contract;
  return unchanged === undefined ? [] : Object.keys(readUnchanged(files, contract, unchanged)?.files ?? {});
}

/** Checks that the files under `unchanged` have the same names, bytes and permissions as at the start. */
export function checkUnchanged(files: LoopFiles, contract: Contract, env: NodeJS.ProcessEnv): CheckResult[] {
  if (contract.unchanged === undefined) return [];
  const recorded = readUnchanged(files, contract, contract.unchanged);
  if (recorded === null) return [{ name: UNCHANGED, outcome: 'unavailable', detail: PROTECTION_TEXTS.noSnapshot }];
  const changes = changesOfUnchanged(files, recorded, unchangedSet(files, contract, env));
  if (changes.length === 0)
    return [{ name: UNCHANGED, outcome: 'ok', detail: 'all files are as they were at the start.' }];
  const detail = PROTECTION_TEXTS.fixed(changeList(changes, files.projectDir));
  return [{ name: UNCHANGED, outcome: 'failed', detail }];
}
