import { join } from 'node:path';
import { sandboxProblem } from '../../sandbox/bubblewrap.ts';
import { SANDBOX_PROBLEMS, type SandboxProblem } from '../../sandbox/messages.ts';
import { nullIfRefused } from '../../text/message.ts';
import { atLeast } from '../../text/version.ts';
import { type FoundClient, findNamed, type Named, namedClient, tooOldText } from '../host.ts';

/** Oldest supported client. Hooks of older ones do not know their client's process. */
export const OLDEST_CLIENT = '2.1.213';

export const UPDATE_CLIENT = `Update it: claude update, or npm install -g @anthropic-ai/claude-code@${OLDEST_CLIENT} or a later version.`;

const CLAUDE: Named = {
  title: 'Claude Code',
  program: 'claude',
  variable: 'RALPH_CLAUDE',
  oldest: OLDEST_CLIENT,
  install: 'npm install -g @anthropic-ai/claude-code',
  update: UPDATE_CLIENT,
  // npm's `claude.cmd` would need a shell, through which a prompt must never pass: find the program that it starts.
  places: (named) =>
    process.platform === 'win32'
      ? [`${named}.exe`, join('node_modules', '@anthropic-ai', 'claude-code', 'bin', 'claude.exe')]
      : [named],
};

/** Returns the client for a loop. Throws RalphError `client-missing`, `client-too-old`; accepts unknown versions. */
export const requireClient = (env: NodeJS.ProcessEnv): FoundClient => namedClient(env, CLAUDE);

/** Finds the Claude Code client: RALPH_CLAUDE, or `claude` on PATH. Throws RalphError `client-missing`. */
export const findClient = (env: NodeJS.ProcessEnv): FoundClient => findNamed(env, CLAUDE);

export const tooOld = (path: string, version: string): string => tooOldText(CLAUDE, path, version);

/** First client that treats a crashed hook as a refusal. */
const BLOCKS_ON_FAILURE = '2.1.295';

/** Returns the warning about a client that allows a call when its guard crashes; null for any other client. */
export function failOpenText(version: string | null): string | null {
  if (version === null || atLeast(version, BLOCKS_ON_FAILURE)) return null;
  return `claude ${version} is older than ${BLOCKS_ON_FAILURE}: a guardrail that crashes lets the call through.`;
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
