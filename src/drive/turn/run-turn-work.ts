import { hashContract } from '../../state/hash-contract.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { runGate } from '../../task/gate.ts';
import { projectFingerprint } from '../../task/project-fingerprint.ts';
import { watchFingerprint } from '../../task/watch-fingerprint.ts';
import { evidenceJudge } from '../task/gather-evidence.ts';
import { tddChecks } from '../tdd/tdd-checks.ts';
import { HOOK_TEXTS } from '../texts.ts';
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
