import type { Contract } from '../core/schema/contract.ts';
import { scriptHash } from './script-hash.ts';

/** Of these scripts of the contract, the ones that are no longer what they were at the start, each in a few words. */
export function changedScripts(
  contract: Pick<Contract, 'scripts'>,
  projectDir: string,
  keys: readonly string[],
): { readonly key: string; readonly what: string }[] {
  return keys.flatMap((key) => {
    const expected = contract.scripts[key];
    if (expected === undefined) return [];
    const hash = scriptHash(projectDir, key);
    if (hash === expected) return [];
    return [{ key, what: hash === null ? `${key} is gone` : `${key} was changed` }];
  });
}
