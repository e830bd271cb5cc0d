import schema from '../../../schemas/input.schema.json' with { type: 'json' };
import { schemaChecker } from './schema-problems.ts';

export const checkInput = schemaChecker(schema);

/** Returns unknown keys: a misspelt one would have no effect. */
export function unknownKeys(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.keys(value).filter((key) => !Object.hasOwn(schema.properties, key));
}
