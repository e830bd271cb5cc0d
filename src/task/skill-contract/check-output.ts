import schema from '../../../schemas/output.schema.json' with { type: 'json' };
import { type SchemaProblem, schemaChecker } from './schema-problems.ts';

/** One checker per form of answer, so that an invalid answer is checked against the intended form. */
const forms = schema.anyOf.map((form) => ({ ...form, check: schemaChecker(form) }));
/** Keys that distinguish the forms. */
const MARKS = ['active', 'action', 'success', 'stateFile', 'plan'];

export function checkOutput(value: unknown): SchemaProblem[] {
  const judged = meant(value).map(({ check }) => check(value));
  const [best] = judged.toSorted((a, b) => weight(a) - weight(b));
  if (best !== undefined) return best;
  const message = `it is not an answer of this skill: it has none of the keys ${MARKS.join(', ')}.`;
  return [{ path: '', value: null, rule: 'anyOf', message }];
}

function meant(value: unknown): typeof forms {
  if (typeof value !== 'object' || value === null) return [];
  const mark = MARKS.find((key) => Object.hasOwn(value, key));
  return mark === undefined ? [] : forms.filter(({ properties }) => Object.hasOwn(properties, mark));
}

/** Rates a form by its problems. A value with `active: true` means that form, whatever else is wrong. */
function weight(problems: readonly SchemaProblem[]): number {
  return problems.length + (problems.some(({ path }) => MARKS.includes(path)) ? 100 : 0);
}
