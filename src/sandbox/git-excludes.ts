import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { readRegularFile, writeAtomically } from '../state/files/regular-file.ts';
import { homeFolder } from '../state/home-folder.ts';
import { onPath } from '../state/process/find-program.ts';
import { countOf, MARK } from './without-git-excludes.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Names that the client's sandbox shows as devices if a project lacks them, which makes `git add -A` fail (measured). */
const SHOWN = [
  ...['.bash_profile', '.bashrc', '.gitconfig', '.gitmodules', '.idea', '.mcp.json', '.profile', '.ripgreprc'],
  ...['.vscode', '.zprofile', '.zshrc', '.claude/.cc-writes', '.claude/agents', '.claude/commands', '.claude/hooks'],
  ...['.claude/launch.json', '.claude/loop.md', '.claude/output-styles', '.claude/routines', '.claude/skills'],
  ...['.claude/scheduled_tasks.json', '.claude/settings.json', '.claude/settings.local.json', '.claude/workflows'],
];
const MOST_BYTES = 1024 * 1024;

interface ExcludesRequest {
  readonly projectDir: string;
  /** Absolute paths that the agent may not write: the client also shows missing ones as devices. */
  readonly closed: readonly string[];
  /** Path of the list, outside the project. */
  readonly file: string;
  readonly env: Environment;
}

/**
 * Writes git's list of ignored files for an agent in the sandbox: the user's own list, and missing files that the sandbox
 * shows. Returns the variables that make git read it. Changes neither the repository nor the user's settings.
 */
export function gitExcludes({ projectDir, closed, file, env }: ExcludesRequest): Record<string, string> {
  const inside = closed
    .map((path) => relative(projectDir, path))
    .filter((path) => path !== '' && !/^\.\.(?:$|\/)/.test(path));
  const missing = [...new Set([...SHOWN, ...inside])].filter((name) => !existsSync(join(projectDir, name)));
  const prefix = ask(projectDir, ['rev-parse', '--show-prefix'], env);
  const lines = missing.map((name) => `/${prefix}${name}`.replace(/[*?[\]\\]/g, '\\$&'));
  const own = (readRegularFile(ownExcludes(projectDir, env), MOST_BYTES) ?? '').replace(/\n?$/, '\n');
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

function ownExcludes(projectDir: string, env: Environment): string {
  const path = ask(projectDir, ['config', '--type=path', 'core.excludesFile'], env);
  if (isAbsolute(path)) return path;
  const config = env['XDG_CONFIG_HOME'];
  return join(config && isAbsolute(config) ? config : join(homeFolder(env), '.config'), 'git', 'ignore');
}

/** Returns git's output; '' if it fails or is missing. */
function ask(directory: string, words: readonly string[], env: Environment): string {
  const git = onPath('git', env);
  if (git === null) return '';
  const { status, stdout } = spawnSync(git, words, { cwd: directory, env: { ...env }, encoding: 'utf8' });
  return status === 0 ? stdout.trimEnd() : '';
}
