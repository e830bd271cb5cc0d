import { clientSandboxProblem } from '../../../hosts/claude/claude-code.ts';
import { hostOf } from '../../../hosts/hosts.ts';
import { sandboxProblem, sandboxTerms } from '../../../sandbox/bubblewrap.ts';
import { SANDBOX_TEXTS } from '../../../sandbox/messages.ts';
import type { ContractTerms } from '../../../task/settings/build-contract.ts';
import { RalphError } from '../../../text/message.ts';
import type { ContractRequest, Resolved } from '../stages.ts';

/** Returns the sandbox of agent and checks, or why there is none. Throws `sandbox-missing` if the task requires a sandbox and this system has none. */
export function confinementOf(
  { projectDir, env, launched = false, mode: driver }: ContractRequest,
  { settings, sources }: Resolved,
  agent: string | null,
  host: ContractTerms['host'],
): Pick<ContractTerms, 'sandbox' | 'unsandboxed'> {
  const { mode } = settings.sandbox;
  // Such a host says so at the start.
  if (hostOf(host).confines) return {};
  const startsClient = agent === null && (launched || driver === 'runner');
  if (mode === 'off') {
    const isUnset = sources['sandbox.mode'] === 'default' && settings.permissionMode === 'bypassPermissions';
    return isUnset && startsClient ? { unsandboxed: 'not-set' } : {};
  }
  const sandbox = sandboxTerms(settings.sandbox, projectDir, env);
  const problem = startsClient ? clientSandboxProblem(env, [projectDir, ...sandbox.allowWrite]) : sandboxProblem(env);
  if (agent === null && problem === null) return { sandbox };
  if (mode === 'auto') return { unsandboxed: 'unavailable' };
  throw new RalphError(
    'sandbox-missing',
    agent !== null || problem === null ? SANDBOX_TEXTS.notForCommands(agent ?? '') : SANDBOX_TEXTS.required(problem),
  );
}
