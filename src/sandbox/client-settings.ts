import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import type { Sandbox } from '../engine/schema/contract.ts';
import { readRegularFile, writeAtomically, writeRecord } from '../state/files/regular-file.ts';
import { configFolder } from '../state/home-folder.ts';
import { onPath } from '../state/process/find-program.ts';
import { gitSettings, MARK } from './environment.ts';
import { isMissing, type PlaceholderFiles, SHOWN } from './placeholders.ts';

interface ClientSandbox {
  readonly terms: Sandbox;
  /** Absolute paths of the loop's own files and folders. */
  readonly closed: readonly string[];
  /** Commands that the client runs outside its sandbox, each in a separate call. */
  readonly excluded: readonly string[];
  readonly secrets: readonly string[];
}

/**
 * Returns the part of the client's settings that confines its shell. The client's sandbox confines only Bash, so
 * permission rules deny its file tools the same reads and writes. Every path is absolute.
 */
export function clientSandbox({ terms, closed, excluded, secrets }: ClientSandbox) {
  const { allowWrite, denyWrite, denyRead, network } = terms;
  return {
    sandbox: {
      enabled: true,
      failIfUnavailable: true,
      autoAllowBashIfSandboxed: true,
      allowUnsandboxedCommands: false,
      excludedCommands: excluded,
      filesystem: { allowWrite, denyWrite, denyRead },
      network: networkOf(network),
      credentials: { envVars: secrets.map((name) => ({ name, mode: 'deny' })) },
    },
    permissions: {
      // The sandbox confines every shell command; without this rule, many would still ask for approval.
      allow: ['Bash', ...excluded.map((command) => `Bash(${command})`)],
      deny: [
        ...[...closed, ...denyWrite].flatMap((path) => rules('Edit', path)),
        ...denyRead.flatMap((path) => rules('Read', path)),
      ],
    },
  };
}

/** Returns the network settings. The list alone leaves other domains open under bypassPermissions (measured). */
function networkOf(network: Sandbox['network']) {
  if (network === true) return { allowedDomains: ['*'] };
  if (network === false) return { allowedDomains: [], deniedDomains: ['*'], strictAllowlist: true };
  return { allowedDomains: network, strictAllowlist: true };
}

/** Returns rules for a file, or for a folder and its content; both if the path does not exist yet. */
function rules(tool: string, path: string): string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  const [file, below] = [`${tool}(/${path})`, `${tool}(/${path}/**)`];
  return stat === undefined || stat.isDirectory() ? [file, below] : [file];
}

const MOST_BYTES = 1024 * 1024;

/**
 * Writes git's list of ignored files for an agent in the sandbox to `file`, outside the project: the user's own list, and the
 * missing files that the sandbox shows, also of those `closed` to the agent, which it also records. Returns the variables that
 * make git read the list. Changes neither the repository nor the user's settings.
 */
export function gitExcludes(
  files: PlaceholderFiles,
  closed: readonly string[],
  file: string,
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  const { projectDir, placeholders } = files;
  const inside = closed.filter((path) => path.startsWith(`${projectDir}/`));
  const missing = [...new Set([...SHOWN.map((name) => join(projectDir, name)), ...inside])].filter(isMissing);
  const asked = ask(projectDir, ['rev-parse', '--show-prefix', '--git-path', 'config.lock'], env);
  const [prefix = '', ...locks] = asked.split('\n');
  const locked = locks.map((path) => resolve(projectDir, path)).filter(isMissing);
  writeRecord(placeholders, { paths: [...missing, ...locked] });
  const lines = missing.map((path) => `/${prefix}${relative(projectDir, path)}`.replace(/[*?[\]\\]/g, '\\$&'));
  const set = ask(projectDir, ['config', '--type=path', 'core.excludesFile'], env);
  const excludes = isAbsolute(set) ? set : join(configFolder(env), 'git', 'ignore');
  const own = (readRegularFile(excludes, MOST_BYTES) ?? '').replace(/\n?$/, '\n');
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeAtomically(file, `${own}${lines.join('\n')}\n`);
  return { [MARK]: file, ...gitSettings(env, [['core.excludesFile', file]]) };
}

/** Returns git's output; '' if it fails or is missing. */
function ask(directory: string, words: readonly string[], env: NodeJS.ProcessEnv): string {
  const git = onPath('git', env);
  if (git === null) return '';
  const { status, stdout } = spawnSync(git, words, { cwd: directory, env: { ...env }, encoding: 'utf8' });
  return status === 0 ? stdout.trimEnd() : '';
}
