import type { Contract } from '../core/schema/contract.ts';
import { hashContract } from '../state/hash-contract.ts';
import { buildContract } from '../task/build-contract.ts';
import type { PreparedContract } from './prepare-contract.ts';

/**
 * The same for two contracts that differ in nothing that somebody would agree to: script files are read anew, when and
 * under which id the loop was made does not count. `tdd` is the list of scenarios that it works on, if any.
 */
export function agreementMark({ terms }: PreparedContract, tdd: Contract['tdd']): string {
  const loop = { ...terms, loopId: 'any', createdAt: '1970-01-01T00:00:00.000Z', ...(tdd && { tdd }) };
  return hashContract(buildContract(loop).contract);
}
