import { createHash } from 'node:crypto';
import type { Contract } from '../engine/schema/contract.ts';
import type { TddRecord } from '../engine/schema/tdd.ts';

/** SHA-256 of the contract with sorted keys: independent of the order of writing. */
export function hashContract(contract: Contract): string {
  return createHash('sha256').update(canonical(contract)).digest('hex');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}

/** SHA-256 of a list's scenarios and commands, without its progress. */
export function hashTddList({ listId, scenarios }: Pick<TddRecord, 'listId' | 'scenarios'>): string {
  const fixed = scenarios.map(({ id, description, run, timeoutSeconds }) => [id, description, run, timeoutSeconds]);
  return createHash('sha256')
    .update(JSON.stringify([listId, fixed]))
    .digest('hex');
}
