import schema from '../../../schemas/output.schema.json' with { type: 'json' };
import { type SchemaProblem, schemaChecker } from './schema-problems.ts';

/** One for each form that an answer can have, so that a wrong one is held against the form that it means. */
const forms = schema.anyOf.map((form) => ({ ...form, check: schemaChecker(form) }));
/** The keys that tell the forms apart. */
const MARKS = ['active', 'action', 'success', 'stateFile', 'plan'];

/** What is wrong with what the skill answered, everything at once; empty where it is one of its answers. */
export function checkOutput(value: unknown): SchemaProblem[] {
  const judged = meant(value).map(({ check }) => check(value));
  const [best] = judged.toSorted((a, b) => weight(a) - weight(b));
  if (best !== undefined) return best;
  const known = forms.map(({ description }) => description).join(' ');
  return [{ path: '', value: null, rule: 'anyOf', message: `it is none of the answers of this skill. ${known}` }];
}

/** The forms that have the value's mark; none where it has none. */
function meant(value: unknown): typeof forms {
  if (typeof value !== 'object' || value === null) return [];
  const mark = MARKS.find((key) => Object.hasOwn(value, key));
  return mark === undefined ? [] : forms.filter(({ properties }) => Object.hasOwn(properties, mark));
}

/** Whoever says `active: true` means that form, whatever else is wrong. */
function weight(problems: readonly SchemaProblem[]): number {
  return problems.length + (problems.some(({ path }) => MARKS.includes(path)) ? 100 : 0);
}
