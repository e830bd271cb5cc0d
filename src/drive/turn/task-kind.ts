import type { CheckResult } from '../../engine/events.ts';
import type { PlanAttempt } from '../../engine/plan/attempt.ts';
import { hashContract } from '../../state/hash-contract.ts';
import { show } from '../../state/process/program.ts';
import { evidenceGuard } from '../prompt/gather-evidence.ts';
import { tddChecks } from '../tdd/scenario-list.ts';
import type { Driver } from './driver.ts';
import { HOOK_TEXTS } from './messages.ts';
import type { Dispatched, Prompt, PromptStep, Turn } from './turn.ts';

export type Listener = Pick<Driver<unknown>, 'notify' | 'tell'>;

/** What comes of opening a prompt; `made` is a word if slow work was aborted on the way. */
export type OpenedPrompt = Dispatched | { readonly turn: Turn; readonly made: Prompt | 'aborted' | 'superseded' };

export interface TaskKind {
  readonly openPrompt: (turn: Turn, step: PromptStep, listener: Listener) => Promise<OpenedPrompt>;
  /** Verifies a claim. Rejects with the abort's reason once `turn.signal` is aborted. */
  readonly verify: (turn: Turn) => Promise<{ readonly results: readonly CheckResult[]; readonly plan?: PlanAttempt }>;
}

/** Runs the contract's checks; returns none if there is nothing to check. */
export async function runChecks({ context, loaded, signal }: Turn): Promise<readonly CheckResult[]> {
  const { files, env } = context;
  const { stored, state } = loaded;
  if (stored === null) return [];
  // The stored hash is only a claim; it is proved here, before anything runs.
  if (hashContract(stored.contract) !== state.contractHash) {
    return [{ name: 'contract', outcome: 'changed', detail: show(HOOK_TEXTS.contractChanged, state) }];
  }
  const { contract } = stored;
  const scenarios = tddChecks(files, contract);
  const { iteration } = state;
  const { runGate } = await import('../../task/commands/gate.ts');
  const gate = await runGate(contract, files.projectDir, {
    signal,
    env,
    iteration,
    blockingRule: evidenceGuard(contract),
  });
  return [...scenarios, ...gate];
}
