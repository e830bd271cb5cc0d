import { createHash } from 'node:crypto';
import type { TddRecord } from '../core/schema/tdd-state.ts';

/** SHA-256 over what a list asks for and by which commands it is proved; not over how far it is. */
export function hashTddList({ listId, scenarios }: Pick<TddRecord, 'listId' | 'scenarios'>): string {
  const fixed = scenarios.map(({ id, description, run, timeoutSeconds }) => [id, description, run, timeoutSeconds]);
  return createHash('sha256')
    .update(JSON.stringify([listId, fixed]))
    .digest('hex');
}
