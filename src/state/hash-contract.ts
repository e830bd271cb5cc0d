import { createHash } from 'node:crypto';
import type { Contract } from '../engine/schema/contract.ts';
import type { TddRecord } from '../engine/schema/tdd.ts';
import { canonicalJson } from '../text/json.ts';

export function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Returns the SHA-256 of the contract with sorted keys, so the order of writing does not matter. */
export function hashContract(contract: Contract): string {
  return sha256(canonicalJson(contract));
}

/** Returns the SHA-256 of a list's scenarios and commands, without its progress. */
export function hashTddList({ listId, scenarios }: Pick<TddRecord, 'listId' | 'scenarios'>): string {
  const fixed = scenarios.map(({ id, description, run, timeoutSeconds }) => [id, description, run, timeoutSeconds]);
  return sha256(JSON.stringify([listId, fixed]));
}
