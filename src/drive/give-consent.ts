import { RalphError } from '../core/ralph-error.ts';
import { readContract, type StoredContract, writeContract } from '../state/contract-store.ts';
import { hashContract } from '../state/hash-contract.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import { type Operated, operate } from './operate.ts';
import { bindList } from './tdd/tdd-terms.ts';
import { HOOK_TEXTS, START_TEXTS } from './texts.ts';

/**
 * The user agrees to the loop that an agent has asked for. The contract is told first: a crash in between leaves one
 * that the user has agreed to, and a loop that is restored from it. Throws RalphError, with nothing changed, where the
 * contract is gone or is not what its hash says, or the list of scenarios is another one: nobody would know what is
 * agreed to.
 */
export function giveConsent(files: LoopFiles, env: NodeJS.ProcessEnv, at: string): Operated {
  return operate(files, env, at, () => {
    const { hash, contract } = proved(readContract(files));
    if (contract.consented) return { kind: 'consent', contractHash: hash };
    const agreed = { ...contract, consented: true };
    const next = { hash: hashContract(agreed), contract: agreed };
    const { tdd, loopId } = contract;
    if (tdd !== undefined) bindList(files, tdd, { loopId, at, consented: true, env, keep: true });
    // Under the lock, just before the state that names it: a Stop in between would take the one for a forgery of the other.
    writeContract(files, next);
    return { kind: 'consent', contractHash: next.hash };
  });
}

function proved(stored: StoredContract | null): StoredContract {
  if (stored === null) throw new RalphError('contract-missing', START_TEXTS.noContract);
  if (hashContract(stored.contract) !== stored.hash)
    throw new RalphError('contract-changed', HOOK_TEXTS.contractChanged);
  return stored;
}
