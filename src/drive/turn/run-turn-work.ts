import { hashContract } from '../../state/hash-contract.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { runGate } from '../../task/commands/gate.ts';
import { projectFingerprint, watchFingerprint } from '../../task/progress/fingerprint.ts';
import { evidenceJudge } from '../prompt/gather-evidence.ts';
import { tddChecks } from '../tdd/scenario-list.ts';
import { HOOK_TEXTS } from './messages.ts';
import type { TurnWork } from './turn-work.ts';

export const turnWork: TurnWork = {
  async runChecks(stored, projectDir, { signal, env, contractHash, iteration }) {
    if (stored === null) return [];
    // The hash that stands in the contract is only its word; here, before anything runs, it is proved.
    if (hashContract(stored.contract) !== contractHash) {
      return [{ name: 'contract', outcome: 'changed', detail: HOOK_TEXTS.contractChanged }];
    }
    const { contract } = stored;
    const scenarios = tddChecks(loopFiles(projectDir, contract.name, env), contract);
    const gate = await runGate(contract, projectDir, { signal, env, iteration, judge: evidenceJudge(contract) });
    return [...scenarios, ...gate];
  },
  watchFingerprint,
  projectFingerprint,
};
