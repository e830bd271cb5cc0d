import manifest from '../../../package.json' with { type: 'json' };
import type { Effect } from '../../engine/events.ts';
import { initialState } from '../../engine/initial-state.ts';
import { usedUpText } from '../../engine/messages.ts';
import { resumedPlan } from '../../engine/plan/attempt.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { StoredContract } from '../../state/loop-files.ts';
import { programName } from '../../state/process/program.ts';
import { asleepMs } from '../../state/process/sleep-watch.ts';
import { countChecklist } from '../../text/markdown/lists.ts';
import { about, RalphError } from '../../text/message.ts';
import { requireOpenItems } from './prepare-contract.ts';
import type { Approved } from './stages.ts';

/** Returns the state with which the loop begins or continues. Throws RalphError if it has no open item or iteration left. */
export function beginningState({ prepared, at }: Approved, before: LoopState | null, loopId: string): LoopState {
  const { request, files, resolved, terms, checklist: items } = prepared;
  const { mode = 'hook', consented } = request;
  const { taskPath } = terms;
  const { maxIterations } = resolved.policy;
  const checklist = items && countChecklist(items);
  if (before === null) requireOpenItems(taskPath, items);
  const fixed = { mode, maxIterations, taskPath };
  const known = { ...fixed, contractHash: null, loopId, name: files.name };
  const { asleepMs: _, ...base } = before ?? initialState({ ...known, at, consented, checklist });
  // A runner and a launcher watch their whole time.
  const asleep = mode === 'runner' || request.launched === true ? null : asleepMs();
  const begun: LoopState = {
    ...base,
    ...fixed,
    program: programName(),
    ...(asleep !== null && { asleepMs: asleep }),
    ...(terms.policy.plan && { plan: resumedPlan(base, terms.policy.plan.maxTasks) }),
    ...(checklist && { checklist }),
  };
  const { iteration } = begun;
  if (iteration >= maxIterations) {
    const used = usedUpText(`This loop has used ${iteration} of ${maxIterations} iterations.`, iteration, terms.policy);
    throw new RalphError('usage', about(used, begun));
  }
  return begun;
}

/** Records what a report needs after the end, when the contract no longer exists: limits, checks, surroundings. */
export function startedEvent(
  state: LoopState,
  { hash, contract }: StoredContract,
  at: string,
  isResumed: boolean,
): Effect {
  const { loopId, iteration, maxIterations, taskPath, mode } = state;
  const { policy, validation, task, client, clientVersion, agent } = contract;
  const { maxCostUsd, maxTokens, maxTimeMs } = policy.budget;
  const acceptance = (task?.commands ?? []).filter((command) => command.acceptance);
  const before = (name: string) => {
    const known = contract.baseline?.checks.find((check) => check.name === name);
    return known && { before: known.outcome };
  };
  const facts = {
    mode,
    limits: { maxCostUsd, maxTokens, maxTimeMs, maxIdleMs: policy.idle?.maxMs ?? null },
    breaker: policy.breaker,
    checks: [...acceptance, ...validation].map(({ name, run }) => ({ name, run, ...before(name) })),
    contract: hash.slice(0, 12),
    client: agent === undefined ? clientVersion : null,
    model: client?.model ?? null,
    system: `${process.platform} ${process.arch}`,
    node: process.version,
    ralphLoop: manifest.version,
  };
  const type = isResumed ? 'loop.resumed' : 'loop.started';
  return { type: 'record-event', event: { type, at, loopId, iteration, maxIterations, taskPath, ...facts } };
}
