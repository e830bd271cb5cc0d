import schema from '../../../schemas/input.schema.json' with { type: 'json' };
import { type SchemaProblem, schemaChecker } from './schema-problems.ts';

const check = schemaChecker(schema);

/** What is wrong with what the skill was given, everything at once; empty where it can start. */
export function checkInput(value: unknown): SchemaProblem[] {
  return check(value);
}

/** Keys of an object that the schema does not know: a misspelt one would do nothing. */
export function unknownKeys(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.keys(value).filter((key) => !Object.hasOwn(schema.properties, key));
}
