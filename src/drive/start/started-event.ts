import manifest from '../../../package.json' with { type: 'json' };
import type { Effect } from '../../engine/events.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { StoredContract } from '../../state/loop-files.ts';

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
