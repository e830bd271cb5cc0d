import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { RalphError } from '../text/ralph-error.ts';
import { atLeast } from '../text/version.ts';

/** The oldest supported client. Hooks of older ones do not know their client's process. */
export const OLDEST_CLIENT = '2.1.213';

export interface FoundClient {
  readonly path: string;
  readonly version: string | null;
}

/** Returns the client for a loop. Throws RalphError `client-missing`, `client-too-old`; accepts unknown versions. */
export function requireClient(env: NodeJS.ProcessEnv): FoundClient {
  const client = findClient(env);
  if (client.version !== null && !atLeast(client.version, OLDEST_CLIENT)) {
    throw new RalphError('client-too-old', `${tooOld(client.path, client.version)} ${UPDATE_CLIENT}`);
  }
  return client;
}

export function tooOld(path: string, version: string): string {
  return `Claude Code ${version} (${path}) is not supported: ralph-loop needs ${OLDEST_CLIENT} or newer.`;
}

/** Clients from here on treat a hook that crashes as a refusal. */
const BLOCKS_ON_FAILURE = '2.1.295';

/** Returns the warning about a client that lets a call through when its guard crashes; null for any other client. */
export function failOpenText(version: string | null): string | null {
  if (version === null || atLeast(version, BLOCKS_ON_FAILURE)) return null;
  return `claude ${version} is older than ${BLOCKS_ON_FAILURE}: a guardrail that crashes lets the call through.`;
}

export const UPDATE_CLIENT = `Update it: claude update, or npm install -g @anthropic-ai/claude-code@${OLDEST_CLIENT} or a later version.`;

/** Finds the Claude Code client: RALPH_CLAUDE, or `claude` on PATH. Throws RalphError `client-missing`. */
export function findClient(env: NodeJS.ProcessEnv): FoundClient {
  const named = env['RALPH_CLAUDE'] || 'claude';
  const path = isAbsolute(named) && runnable(named) ? named : search(named, env);
  if (path === null) {
    throw new RalphError(
      'client-missing',
      'claude was not found on PATH. Install Claude Code (npm install -g @anthropic-ai/claude-code), or set RALPH_CLAUDE to its path.',
    );
  }
  return { path, version: versionOf(path) };
}

function search(name: string, env: NodeJS.ProcessEnv): string | null {
  // npm's `claude.cmd` would need a shell, and a prompt must never pass through one: find the program that it starts.
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
