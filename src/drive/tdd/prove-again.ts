import type { CheckResult } from '../../engine/events.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { TddScenario } from '../../engine/schema/tdd.ts';
import { TDD_TEXTS } from '../../engine/tdd/messages.ts';
import { recordBroken } from '../../engine/tdd/phases.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { withTdd } from '../../state/tdd-store.ts';
import { runScenario } from '../../task/tdd/run-scenario.ts';
import { changedTests } from '../../task/tdd/test-files.ts';
import { guardOf } from './prove-phase.ts';
import { listOf, SCENARIOS, tddChecks } from './scenario-list.ts';

interface AgainOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly now: () => string;
}

/**
 * Checks at a claim that every scenario is proved and still passes. Each command that is not a check of the loop runs once
 * more, since the list only records what was seen before, and its test must be the one that was red. A scenario that fails is
 * current again. Empty for other loops. Throws `evidence-lost`; rejects with the abort reason.
 */
export async function proveAgain(
  files: LoopFiles,
  contract: Contract,
  { env, signal, now }: AgainOptions,
): Promise<readonly CheckResult[]> {
  const proved = tddChecks(files, contract);
  if (!proved.every(({ outcome }) => outcome === 'ok') || contract.tdd === undefined) return proved;
  const { projectDir } = files;
  const { record } = withTdd(files, now(), (found) => ({ next: 'keep', result: listOf(found, files.name) }));
  const weakened = (): CheckResult[] =>
    record.scenarios.flatMap(({ id }) => {
      const what = changedTests(projectDir, record.provedTests?.[id] ?? {}).join(', ');
      if (what === '') return [];
      const detail = show(TDD_TEXTS.testsWeakened(id, what), { name: files.name, mode: 'hook' });
      return [{ name: SCENARIOS, outcome: 'failed' as const, detail }];
    });
  const before = weakened();
  if (before.length > 0) return before.slice(0, 1);
  const options = { projectDir, signal, env, sandbox: contract.sandbox, blockingRule: guardOf(contract) };
  for (const scenario of oncePerCommand(record.scenarios, contract)) {
    const { problem, ended, output } = await runScenario(record, scenario, 'claim', options);
    if (problem === null) continue;
    const { id } = scenario;
    if (ended) {
      withTdd(files, now(), (found) => ({
        next: recordBroken(listOf(found, files.name).record, id, output),
        result: undefined,
      }));
    }
    return [{ name: SCENARIOS, outcome: ended ? 'failed' : 'unavailable', detail: `${id}: ${problem}\n${output}` }];
  }
  // A process of the agent may have presented another test to the command.
  const during = weakened();
  return during.length > 0 ? during.slice(0, 1) : proved;
}

/** Returns a scenario for each command that is not among the checks, which the gate runs. */
function oncePerCommand(scenarios: readonly TddScenario[], { validation }: Contract): readonly TddScenario[] {
  const seen = new Set(validation.map(({ run }) => run));
  return scenarios.filter(({ run }) => !seen.has(run) && seen.add(run));
}
