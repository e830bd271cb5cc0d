import schema from '../../../schemas/input.schema.json' with { type: 'json' };
import { type SchemaProblem, schemaChecker } from './schema-problems.ts';

const check = schemaChecker(schema);

export function checkInput(value: unknown): SchemaProblem[] {
  return check(value);
}

/** A misspelt key would have no effect. */
export function unknownKeys(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.keys(value).filter((key) => !Object.hasOwn(schema.properties, key));
}
