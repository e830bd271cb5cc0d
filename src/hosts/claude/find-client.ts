import { spawnSync } from 'node:child_process';
import { isAbsolute, join } from 'node:path';
import { sandboxProblem } from '../../sandbox/bubblewrap.ts';
import { SANDBOX_PROBLEMS, type SandboxProblem } from '../../sandbox/messages.ts';
import { isExecutable, onPath } from '../../state/process/find-program.ts';
import { nullIfRefused, RalphError } from '../../text/message.ts';
import { atLeast } from '../../text/version.ts';
import type { FoundClient } from '../host.ts';

/** Oldest supported client. Hooks of older ones do not know their client's process. */
export const OLDEST_CLIENT = '2.1.213';

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

/** First client that treats a crashed hook as a refusal. */
const BLOCKS_ON_FAILURE = '2.1.295';

/** Returns the warning about a client that allows a call when its guard crashes; null for any other client. */
export function failOpenText(version: string | null): string | null {
  if (version === null || atLeast(version, BLOCKS_ON_FAILURE)) return null;
  return `claude ${version} is older than ${BLOCKS_ON_FAILURE}: a guardrail that crashes lets the call through.`;
}

export const UPDATE_CLIENT = `Update it: claude update, or npm install -g @anthropic-ai/claude-code@${OLDEST_CLIENT} or a later version.`;

/** Finds the Claude Code client: RALPH_CLAUDE, or `claude` on PATH. Throws RalphError `client-missing`. */
export function findClient(env: NodeJS.ProcessEnv): FoundClient {
  const named = env['RALPH_CLAUDE'] || 'claude';
  // npm's `claude.cmd` would need a shell, through which a prompt must never pass: find the program that it starts.
  const places =
    process.platform === 'win32'
      ? [`${named}.exe`, join('node_modules', '@anthropic-ai', 'claude-code', 'bin', 'claude.exe')]
      : [named];
  const found = places.map((place) => onPath(place, env)).find((place) => place !== null);
  const path = isAbsolute(named) && isExecutable(named) ? named : (found ?? null);
  if (path === null) {
    throw new RalphError(
      'client-missing',
      'claude was not found on PATH. Install Claude Code (npm install -g @anthropic-ai/claude-code), or set RALPH_CLAUDE to its path.',
    );
  }
  return { path, version: versionOf(path) };
}

/** Codes of a program that does not answer in time, or that cannot be started: the loop's start reports this one. */
const NO_ANSWER = new Set(['ETIMEDOUT', 'ENOENT', 'EACCES', 'ENOEXEC', 'ETXTBSY', 'EFTYPE', 'UNKNOWN']);

/** Returns the version that a client prints; null for one that fails, gives no answer in 10 s or prints none. */
function versionOf(path: string): string | null {
  const { error, status, stdout } = spawnSync(path, ['--version'], {
    encoding: 'utf8',
    timeout: 10_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (error !== undefined && !NO_ANSWER.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  return status === 0 ? (/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null) : null;
}

/**
 * Oldest client whose sandbox confines an agent. In earlier ones, a list of domains leaves every other domain open, and the
 * steps of a test-first loop are refused (measured with 2.1.283 and 2.1.284).
 */
const OLDEST_SANDBOX = '2.1.284';

/** Returns why client or checks cannot be confined here, with the remedy; null if they can. */
export function clientSandboxProblem(env: NodeJS.ProcessEnv, platform?: NodeJS.Platform): SandboxProblem | null {
  const problem = sandboxProblem(env, platform);
  const version = problem === null ? (nullIfRefused(() => findClient(env), 'client-missing')?.version ?? null) : null;
  if (version === null || atLeast(version, OLDEST_SANDBOX)) return problem;
  return SANDBOX_PROBLEMS.oldClient(version, OLDEST_SANDBOX);
}
