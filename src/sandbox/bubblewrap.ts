import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, realpathSync, renameSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { Sandbox } from '../engine/schema/contract.ts';
import { clientConfigDir, configFolder, homeFolder } from '../state/home-folder.ts';
import { outsideRoot } from '../state/loop-files.ts';
import { onPath } from '../state/process/find-program.ts';
import { firstLine } from '../text/quote.ts';
import { pathOutside } from './environment.ts';
import { PACKAGES, SANDBOX_PROBLEMS, type SandboxProblem } from './messages.ts';
import { secretNames } from './secret-names.ts';

const TIME_LIMIT_MS = 10_000;

/** Returns why agent and checks cannot run in a sandbox here, with the remedy; null if they can. */
export function sandboxProblem(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): SandboxProblem | null {
  if (platform !== 'linux') return SANDBOX_PROBLEMS.otherSystem(platform);
  const missing = (['bwrap', 'socat'] as const).filter((program) => onPath(program, env) === null);
  if (missing.length > 0) return SANDBOX_PROBLEMS.missing(missing.map((program) => PACKAGES[program]));
  const words = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp'];
  const { status, stderr, error } = spawnSync(
    onPath('bwrap', env) ?? 'bwrap',
    [...words, '--unshare-net', '--unshare-pid', '--unshare-ipc', '--die-with-parent', '--', '/bin/sh', '-c', 'exit 0'],
    { env: { ...env }, encoding: 'utf8', timeout: TIME_LIMIT_MS },
  );
  if (status === 0) return null;
  return SANDBOX_PROBLEMS.refused(error?.message ?? (firstLine(stderr.trim()) || `exit code ${status}`));
}

/** Sandbox of a command, which can write only below `writable` and where the terms allow it. */
export interface Confinement {
  readonly terms: Sandbox;
  /** Project, or the work tree that replaces it; absolute. */
  readonly writable: string;
  /** Folder that stays readable even if it is below a folder whose sockets are hidden. */
  readonly readable?: string;
  /** Git folder to which a commit of the loop writes, except its settings and hooks. */
  readonly gitDir?: string;
}

/** Options without which root could remount the system's files writable (measured). */
const POWERLESS = ['--unshare-user', '--cap-drop', 'ALL'];
/** Folders with sockets of other programs, such as Docker's; a read-only mount would still allow connections. */
const HIDDEN = ['/tmp', '/run'];
/** Parts of these folders that are needed: those of NixOS, and the name servers. */
const NEEDED = ['/run/current-system', '/run/systemd/resolve'];

/** Program that runs a shell text of the user. A secret named in the text stays in the environment. */
interface ConfinedRun {
  readonly text?: string;
  readonly program: string;
  readonly words: readonly string[];
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Returns the bubblewrap command line for a program. Without bwrap it fails to start, so nothing runs outside by mistake. */
export function confine(sandbox: Confinement | undefined, run: ConfinedRun) {
  const { text = '', program, words, directory, env } = run;
  if (sandbox === undefined) return { program, words, env, finish: () => undefined };
  const { terms, writable, readable = '', gitDir = '' } = sandbox;
  const secrets = new Set(secretNames(env, [text]));
  const kept = Object.entries(env).filter(([name]) => !secrets.has(name));
  const places = [...(env['PATH'] ?? '').split(delimiter), env['HOME'] ?? '', readable, ...NEEDED];
  const needed = places.filter((path) => HIDDEN.some((folder) => path.startsWith(`${folder}/`)));
  const servers = join(writable, '.mcp.json');
  const options = [
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    ...existing(HIDDEN).flatMap((path) => ['--tmpfs', path]),
    ...bound('--ro-bind', needed),
    ...bound('--bind', terms.allowWrite),
    ...existing([outsideRoot(env)]).flatMap(hidden),
    // After the state folder, which contains the clean copies of projects.
    ...bound('--bind', [writable]),
    ...bound('--ro-bind', [...controlFiles(writable, env, gitDir !== ''), ...terms.denyWrite]),
    ...bound('--bind', [gitDir]),
    ...bound(
      '--ro-bind',
      ['config', 'hooks'].map((name) => join(gitDir, name)),
    ),
    ...existing(terms.denyRead).flatMap(hidden),
    ...[...POWERLESS, '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--die-with-parent', '--new-session'],
    ...(terms.network === true ? [] : ['--unshare-net']),
    ...['--chdir', directory],
  ];
  return {
    // The last one does not exist: a name alone would be looked up on the whole PATH.
    program: onPath('bwrap', { PATH: pathOutside(env['PATH'] ?? '', [writable, ...terms.allowWrite]) }) ?? '/bwrap',
    words: [...options, '--', program, ...words],
    env: { ...Object.fromEntries(kept), TMPDIR: '/tmp' },
    finish: isThere(servers)
      ? () => undefined
      : () => {
          // A client without a terminal would start servers that a command defined, outside the sandbox (measured).
          if (isThere(servers)) renameSync(servers, `${servers}.disabled`);
        },
  };
}

function bound(option: '--bind' | '--ro-bind', paths: readonly string[]): string[] {
  return existing(paths).flatMap((path) => [option, path, path]);
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function hidden(path: string): string[] {
  return statSync(path).isDirectory() ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path];
}

const SETTINGS = ['settings.json', 'settings.local.json', 'hooks', 'skills', 'agents', 'commands'];

/** Returns the files and folders that decide what runs outside the sandbox later: settings of the client, ours, and git's. */
function controlFiles(project: string, env: NodeJS.ProcessEnv, isCommit: boolean): string[] {
  const home = homeFolder(env);
  return [
    ...['.git', '.mcp.json', '.ralph/config.json'].map((name) => join(project, name)),
    // A commit may move the task file, which is in .claude.
    ...(isCommit ? SETTINGS : ['']).map((name) => join(project, '.claude', name)),
    ...[clientConfigDir(env), join(home, '.claude.json'), join(home, '.gitconfig')],
    join(configFolder(env), 'ralph-loop'),
  ];
}

/** Returns the real paths of the existing ones: bubblewrap would create a missing one. */
function existing(paths: readonly string[]): string[] {
  return [...new Set(paths.flatMap((path) => (isAbsolute(path) && existsSync(path) ? [realpathSync(path)] : [])))];
}

/** Settings of a task file, with its key names. */
interface SandboxSettings extends Readonly<Pick<Sandbox, 'network'>> {
  readonly allow_write: readonly string[];
  readonly deny_write: readonly string[];
  readonly deny_read: readonly string[];
}

/** Returns the sandbox of a contract. Its paths are absolute: the client ignores others in `--settings` (measured). */
export function sandboxTerms(settings: SandboxSettings, projectDir: string, env: NodeJS.ProcessEnv): Sandbox {
  const home = homeFolder(env);
  const absolute = (path: string): string =>
    path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : resolve(projectDir, path);
  const { allow_write, deny_write, deny_read, network } = settings;
  return {
    allowWrite: allow_write.map(absolute),
    denyWrite: deny_write.map(absolute),
    denyRead: deny_read.map(absolute),
    network: typeof network === 'boolean' ? network : [...network],
  };
}
