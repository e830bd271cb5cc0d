import type { FinishedRun } from '../../claude/agent/agent-run.ts';
import type { Effect } from '../../engine/effects.ts';
import type { UsageDelta } from '../../engine/events.ts';
import type { AgentRecord } from '../../engine/schema/records.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import { measureIteration } from '../prompt/gather-evidence.ts';
import { keepDue } from '../records/outbox.ts';
import { countTurn, takeFingerprints } from '../turn/count-turn.ts';
import type { Loaded } from '../turn/turn.ts';
import { heardContext } from '../turn/turn.ts';
import { sumCost, sumUsage } from './failed-run-usage.ts';
import type { Runner } from './runner.ts';
import { tellChecklist } from './runner.ts';

/**
 * Tells the engine that an iteration is over, whatever became of it, and gives what follows. `error` says why it failed;
 * `warning` is what the user and the next prompt have to hear beside.
 */
export async function endIteration(
  runner: Runner,
  run: FinishedRun,
  stored: NonNullable<Loaded['stored']>,
  failure: { readonly error: string | null; readonly timedOut: boolean },
  warning: string | null,
): Promise<readonly Effect[]> {
  const { files, options, loopId, turn } = runner;
  const { contract } = stored;
  const text = failure.error === null && !failure.timedOut ? (run.facts.result?.text ?? '') : '';
  const context = heardContext(files, options.env, run.facts.sessionId ?? '', text);
  const { signal } = turn.options;
  const measured = contract.task ? await measureIteration(files, contract, { env: options.env, signal }) : null;
  const fingerprints = takeFingerprints(context, turn.options, stored, measured);
  const usage = sumUsage(runner.wasted, run.facts.result?.usage ?? null);
  const cost = sumCost(runner.wastedUsd, run.facts.result?.costUsd ?? null);
  const agent = agentRecord(run, usage, cost);
  runner.wasted = null;
  runner.wastedUsd = null;
  return withState(files, { ...LOCK_WAIT, ...(turn.lease && { lease: turn.lease }) }, (current) => {
    if (current.kind !== 'loop' || current.state.loopId !== loopId) return { next: 'keep' as const, result: [] };
    const loaded: Loaded = { ...turn.loaded, stored, policy: contract.policy, state: current.state, mended: warning };
    const callsUnknown = run.facts.toolCalls === null;
    const heard = { ...failure, usage, costUsd: runner.spentUsd, callsUnknown, transcriptMark: context.now() };
    const counted = countTurn(context, loaded, { ...fingerprints, text, origin: 'loop', heard }, measured);
    const { state, task } = counted;
    const effects = counted.effects.map((effect) =>
      effect.type === 'record-iteration' ? { ...effect, record: { ...effect.record, agent } } : effect,
    );
    runner.turn = { ...turn, loaded: { ...loaded, mended: null, state }, task: task && { ...task, agent } };
    tellChecklist(runner, state.checklist);
    keepDue(files, context.now(), effects);
    return { next: state, result: effects };
  });
}

function agentRecord(
  { facts, durationMs }: FinishedRun,
  usage: UsageDelta | null,
  costUsd: number | null,
): AgentRecord {
  return { model: facts.model, turns: facts.result?.turns ?? null, durationMs, costUsd, usage };
}
