import { needsConsent } from '../../drive/router/router-driver.ts';
import { isDriven, startRouter } from '../../drive/router/start.ts';
import { approveStart } from '../../drive/start/approve.ts';
import { firstBaseline } from '../../drive/start/baseline.ts';
import { prepareStart } from '../../drive/start/prepare-contract.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { HOOK_HOSTS } from '../../hosts/hook-hosts.ts';
import { hostOf } from '../../hosts/hosts.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { advise, RalphError } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import type { CommandContext } from '../command.ts';
import { isAgent } from '../refuse-agent.ts';
import { userOf } from '../start/approver.ts';
import { runFirstChecks } from '../start/first-checks.ts';
import { requestStart, startRequest, startTarget } from '../start/start-request.ts';
import { printWarnings } from '../start/warnings.ts';

/** Returns the files of the started loop, or of the one that this session already drives; null if a signal ended the start. */
export async function startRouterLoop(context: CommandContext): Promise<LoopFiles | null> {
  requireGuardedHost(context);
  const target = startTarget(context, 'router start');
  const { files } = target;
  const consented = !isAgent(context.env);
  const own = { mode: 'router', consented } as const;
  // A repeated start does not check the plan, because files of the current task are uncommitted.
  const { plan, from } = context.values;
  const requested = plan === true ? { from: typeof from === 'string' ? from : null } : null;
  const request = startRequest(context, target, { ...own, plan: requested });
  if (isDriven(files, request)) return files;
  const begin = async (): Promise<LoopFiles | null> => {
    const mayRun = (contract: Contract): boolean => consented || !needsConsent(files, contract);
    const approved = await approveStart(prepareStart(await requestStart(context, target, own, false)), {
      ...userOf(context),
      runChecks: (prepared) =>
        runFirstChecks(context, (options) => firstBaseline(prepared, options, mayRun), prepared.terms.policy),
    });
    if (approved === null) return null;
    const started = startRouter(approved);
    if (started !== null) printWarnings(context, started);
    return files;
  };
  return begin().catch((error: unknown) => {
    // Another session has started the loop meanwhile; the answer says who drives it.
    if (error instanceof RalphError && error.code === 'refused' && isDriven(files, request)) return files;
    throw error;
  });
}

/** Throws `refused` in the shell of another client's agent: none of its hooks would guard the subagents. */
function requireGuardedHost({ env, values }: CommandContext): void {
  const other = HOOK_HOSTS.find(({ agentVariable, settings }) => settings !== undefined && env[agentVariable] === '1');
  if (other === undefined || env['CLAUDECODE'] === '1') return;
  const text = `${hostOf(other.name).title} cannot work on a loop with subagents, because no hook would guard them.`;
  const task = typeof values['task'] === 'string' ? ` --task ${quoted(values['task'])}` : '';
  const command = `start${task} --launch --agent ${other.name}`;
  throw new RalphError('refused', advise(text, 'The user can start the loop in another terminal', command));
}
