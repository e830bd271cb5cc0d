import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Runners on npm that the bench installs, each at this version and without its scripts. */
export const PINNED = { 'ralphy-cli': '4.7.2', 'ralph-tui': '0.11.0', bun: '1.4.5' } as const;
type Peer = keyof typeof PINNED;

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'ralph-loop-bench');

/** Installs what is missing in the cache; null, or why it could not be installed. */
export function install(): string | null {
  const wanted = Object.entries(PINNED).filter(([name, version]) => versionOf(name as Peer) !== version);
  if (wanted.length === 0) return null;
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, 'package.json'), '{"private": true}\n');
  const words = wanted.map(([name, version]) => `${name}@${version}`);
  try {
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--save-exact', '--loglevel', 'error'];
    execFileSync('npm', ['install', ...flags, ...words], {
      cwd: cache,
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 300_000,
    });
    return null;
  } catch (error) {
    return String(error).split('\n').slice(0, 2).join(' ').slice(0, 200);
  }
}

function versionOf(name: Peer): string | null {
  const path = join(cache, 'node_modules', name, 'package.json');
  return existsSync(path) ? String((JSON.parse(readFileSync(path, 'utf8')) as { version: unknown }).version) : null;
}

export const RALPHY = join(cache, 'node_modules', '.bin', 'ralphy');
export const RALPH_TUI = join(cache, 'node_modules', 'ralph-tui', 'dist', 'cli.js');

/** The folder of bun's program: its package finds it by a script of npm, which does not run here. */
export function bunFolder(): string | null {
  const scope = join(cache, 'node_modules', '@oven');
  const found = existsSync(scope)
    ? readdirSync(scope).find((name) => existsSync(join(scope, name, 'bin', 'bun')))
    : undefined;
  return found === undefined ? null : join(scope, found, 'bin');
}
