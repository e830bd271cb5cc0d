import { CONTRACT_VERSION, type Contract, contract as schema } from '../core/schema/contract.ts';
import type { StoredContract } from '../state/contract-store.ts';
import { hashContract } from '../state/hash-contract.ts';
import { scriptsOf } from './contract-scripts.ts';
import type { ValidationEntry } from './frontmatter-schema.ts';
import { normaliseValidation } from './normalise-validation.ts';

/** What the contract says beside what follows from the project's own files. */
export interface ContractTerms extends Omit<Contract, 'contractVersion' | 'validation' | 'scripts'> {
  readonly validation: readonly ValidationEntry[];
}

/**
 * The contract of a loop that starts now: the commands with names and timeouts, and the hashes of the project's own
 * files that they name. Throws `task-invalid` for two commands of the same name.
 */
export function buildContract(terms: ContractTerms): StoredContract {
  const validation = normaliseValidation(terms.validation);
  const scripts = scriptsOf({ ...terms, validation });
  const contract = schema.parse({ ...terms, contractVersion: CONTRACT_VERSION, validation, scripts });
  return { hash: hashContract(contract), contract };
}
