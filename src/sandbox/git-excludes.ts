import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { readRegularFile, writeAtomically, writeRecord } from '../state/files/regular-file.ts';
import { configFolder } from '../state/home-folder.ts';
import { onPath } from '../state/process/find-program.ts';
import { isMissing, type PlaceholderFiles, SHOWN } from './placeholders.ts';
import { countOf, MARK } from './without-git-excludes.ts';

const MOST_BYTES = 1024 * 1024;

interface ExcludesRequest {
  readonly files: PlaceholderFiles;
  /** Absolute paths that the agent may not write: the client also shows missing ones as devices. */
  readonly closed: readonly string[];
  /** Path of the list, outside the project. */
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Writes git's list of ignored files for an agent in the sandbox: the user's own list, and missing files that the sandbox
 * shows, which it also records. Returns the variables that make git read the list. Changes neither the repository nor the
 * user's settings.
 */
export function gitExcludes({ files, closed, file, env }: ExcludesRequest): Record<string, string> {
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
  const count = countOf(env);
  return {
    [MARK]: file,
    GIT_CONFIG_COUNT: String(count + 1),
    [`GIT_CONFIG_KEY_${count}`]: 'core.excludesFile',
    [`GIT_CONFIG_VALUE_${count}`]: file,
  };
}

/** Returns git's output; '' if it fails or is missing. */
function ask(directory: string, words: readonly string[], env: NodeJS.ProcessEnv): string {
  const git = onPath('git', env);
  if (git === null) return '';
  const { status, stdout } = spawnSync(git, words, { cwd: directory, env: { ...env }, encoding: 'utf8' });
  return status === 0 ? stdout.trimEnd() : '';
}
