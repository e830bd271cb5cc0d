import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { homeFolder } from '../../state/home-folder.ts';
import { type FoundClient, namedClient } from '../host.ts';

/** Oldest supported Codex: the first one whose hooks were measured. */
export const OLDEST_CODEX = '0.171.0';

export function codexHome(env: NodeJS.ProcessEnv): string {
  return env['CODEX_HOME'] || join(homeFolder(env), '.codex');
}

/** Returns Codex: RALPH_CODEX, or `codex` on the PATH. Throws RalphError `client-missing`, `client-too-old`. */
export function requireCodex(env: NodeJS.ProcessEnv): FoundClient {
  return namedClient(env, {
    title: 'Codex',
    program: 'codex',
    variable: 'RALPH_CODEX',
    oldest: OLDEST_CODEX,
    install: 'npm install -g @openai/codex',
    resolve: (path) => nativeOf(path) ?? path,
  });
}

/**
 * Returns the program behind npm's wrapper, a script that a SIGKILL ends without its child; null if `path` is no such script or
 * has another form than the known one.
 */
function nativeOf(path: string): string | null {
  const script = realpathSync(path);
  if (!script.endsWith(join('bin', 'codex.js'))) return null;
  const [system, target] = PLATFORMS[process.platform] ?? [];
  const arch = { x64: 'x86_64', arm64: 'aarch64' }[process.arch as 'x64' | 'arm64'];
  if (system === undefined || target === undefined || arch === undefined) return null;
  const part = `codex-${system}-${process.arch}`;
  const home = dirname(dirname(script));
  const name = process.platform === 'win32' ? 'codex.exe' : 'codex';
  const places = [join(home, '..', part), join(home, 'node_modules', '@openai', part)];
  return places.map((place) => join(place, 'vendor', `${arch}-${target}`, 'bin', name)).find(existsSync) ?? null;
}

const PLATFORMS: Readonly<Partial<Record<NodeJS.Platform, readonly [system: string, target: string]>>> = {
  linux: ['linux', 'unknown-linux-musl'],
  darwin: ['darwin', 'apple-darwin'],
  win32: ['win32', 'pc-windows-msvc'],
};
