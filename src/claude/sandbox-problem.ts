import { sandboxProblem } from '../sandbox/availability.ts';
import { SANDBOX_PROBLEMS, type SandboxProblem } from '../sandbox/messages.ts';
import { RalphError } from '../text/message.ts';
import { atLeast } from '../text/version.ts';
import { findClient } from './find-client.ts';

/**
 * The oldest client whose sandbox confines an agent. Before, a list of domains leaves every other domain open, and the
 * steps of a test-first loop are refused (measured with 2.1.283 and 2.1.284).
 */
const OLDEST_SANDBOX = '2.1.284';

/** Returns why neither client nor checks can be confined here, with the command that helps; null if they can. */
export function clientSandboxProblem(env: NodeJS.ProcessEnv, platform?: NodeJS.Platform): SandboxProblem | null {
  const problem = sandboxProblem(env, platform);
  const version = problem === null ? versionOf(env) : null;
  if (version === null || atLeast(version, OLDEST_SANDBOX)) return problem;
  return SANDBOX_PROBLEMS.oldClient(version, OLDEST_SANDBOX);
}

/** A missing client is reported where it is needed. */
function versionOf(env: NodeJS.ProcessEnv): string | null {
  try {
    return findClient(env).version;
  } catch (error) {
    if (error instanceof RalphError && error.code === 'client-missing') return null;
    throw error;
  }
}
