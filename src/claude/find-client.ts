import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { RalphError } from '../text/ralph-error.ts';

export interface FoundClient {
  readonly path: string;
  /** As the client names it, `2.1.330`; null when it does not answer in time. */
  readonly version: string | null;
}

/** The Claude Code client: RALPH_CLAUDE, or `claude` on PATH. Throws RalphError `client-missing` with what to do. */
export function findClient(env: NodeJS.ProcessEnv): FoundClient {
  const path = locate(env);
  if (path === null) {
    throw new RalphError(
      'client-missing',
      'claude was not found on PATH. Install Claude Code (npm install -g @anthropic-ai/claude-code), or set RALPH_CLAUDE to its path.',
    );
  }
  return { path, version: versionOf(path) };
}

function locate(env: NodeJS.ProcessEnv): string | null {
  const named = env['RALPH_CLAUDE'];
  if (named) return isAbsolute(named) && runnable(named) ? named : search(named, env);
  return search('claude', env);
}

function search(name: string, env: NodeJS.ProcessEnv): string | null {
  // npm's `claude.cmd` would need a and a prompt must never pass through one: what it starts is looked for.
  const places =
    process.platform === 'win32'
      ? [`${name}.exe`, join('node_modules', '@anthropic-ai', 'claude-code', 'bin', 'claude.exe')]
      : [name];
  for (const directory of (env['PATH'] ?? '').split(delimiter)) {
    if (!isAbsolute(directory)) continue; // a relative entry would run whatever lies in the project
    const found = places.map((place) => join(directory, place)).find(runnable);
    if (found !== undefined) return found;
  }
  return null;
}

function runnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function versionOf(path: string): string | null {
  try {
    const out = execFileSync(path, ['--version'], {
      encoding: 'utf8',
      timeout: 10_000,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return /\d+\.\d+\.\d+/.exec(out)?.[0] ?? null;
  } catch {
    return null;
  }
}
