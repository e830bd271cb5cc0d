import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const CLIENTS = {
  'Claude Code': {
    package: '@anthropic-ai/claude-code',
    variable: 'RALPH_TEST_CLAUDE',
    program: join(
      '@anthropic-ai',
      `claude-code-${process.platform}-${process.arch}`,
      process.platform === 'win32' ? 'claude.exe' : 'claude',
    ),
  },
  Codex: {
    package: '@openai/codex',
    variable: 'RALPH_TEST_CODEX',
    program: join('@openai', 'codex', 'bin', 'codex.js'),
  },
} as const;
export type ClientName = keyof typeof CLIENTS;

/** Returns the path of a client in this version, which npm installs once, in the user's cache folder. */
export function installed(name: ClientName, version: string): string {
  const { package: packageName, program } = CLIENTS[name];
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const folder = join(cache, 'ralph-loop', `${packageName.replace(/^.*\//, '')}-${version}`);
  const path = join(folder, 'node_modules', program);
  if (!existsSync(path)) {
    mkdirSync(folder, { recursive: true });
    console.log(`Installing ${name} ${version} in ${folder} …`);
    const words = ['install', '--prefix', folder, '--no-save', `${packageName}@${version}`];
    const { status } = spawnSync('npm', words, { stdio: 'inherit', shell: process.platform === 'win32' });
    if (status !== 0) process.exit(status ?? 1);
  }
  return path;
}

/** Returns the newest version on npm; null if npm does not answer. */
export function newest(name: ClientName): string | null {
  const words = ['view', CLIENTS[name].package, 'version'];
  const { status, stdout } = spawnSync('npm', words, { encoding: 'utf8', shell: process.platform === 'win32' });
  return status === 0 ? stdout.trim() : null;
}
