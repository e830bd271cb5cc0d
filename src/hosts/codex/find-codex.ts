import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { homeFolder } from '../../state/home-folder.ts';
import { isExecutable, onPath } from '../../state/process/find-program.ts';
import { RalphError } from '../../text/message.ts';
import { atLeast } from '../../text/version.ts';
import type { FoundClient } from '../host.ts';

/** Oldest supported Codex: the first one whose hooks were measured. */
export const OLDEST_CODEX = '0.171.0';

const INSTALL = 'npm install -g @openai/codex';

/** Returns the folder of Codex's configuration and sessions. */
export function codexHome(env: NodeJS.ProcessEnv): string {
  return env['CODEX_HOME'] || join(homeFolder(env), '.codex');
}

/** Returns Codex: RALPH_CODEX, or `codex` on the PATH. Throws RalphError `client-missing`, `client-too-old`. */
export function requireCodex(env: NodeJS.ProcessEnv): FoundClient {
  const named = env['RALPH_CODEX'] || 'codex';
  const found = isAbsolute(named) && isExecutable(named) ? named : onPath(named, env);
  if (found === null) {
    throw new RalphError(
      'client-missing',
      `codex was not found on PATH. Install Codex (${INSTALL}), or set RALPH_CODEX to its path.`,
    );
  }
  const path = nativeOf(found) ?? found;
  const { status, stdout } = spawnSync(path, ['--version'], {
    encoding: 'utf8',
    timeout: 10_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const version = status === 0 ? (/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null) : null;
  if (version !== null && !atLeast(version, OLDEST_CODEX)) {
    throw new RalphError(
      'client-too-old',
      `Codex ${version} (${path}) is not supported: ralph-loop needs ${OLDEST_CODEX} or newer. Update it: ${INSTALL}.`,
    );
  }
  return { path, version };
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
