import schema from '../../../schemas/output.schema.json' with { type: 'json' };
import { type SchemaProblem, schemaChecker } from './schema-problems.ts';

/** One for each form that an answer can have, so that a wrong one is held against the form that it means. */
const forms = schema.anyOf.map((form) => ({ form, check: schemaChecker(form) }));
/** They tell the forms apart. */
const MARKS = ['active', 'action'];

/** What is wrong with what the skill answered, everything at once; empty where it is one of its answers. */
export function checkOutput(value: unknown): SchemaProblem[] {
  const judged = forms.map(({ form, check }) => ({ form, problems: check(value) }));
  const [best] = judged.toSorted((a, b) => weight(a.problems) - weight(b.problems));
  if (best === undefined || best.problems.length === 0) return [];
  if (best.problems.length < best.form.required.length) return best.problems;
  const known = judged.map(({ form }) => form.description).join(' ');
  const message = `it is none of the answers of this skill. They are: ${known}`;
  return [{ path: '', value: null, rule: 'anyOf', message }];
}

/** Whoever names a form means it, whatever else is wrong. */
function weight(problems: readonly SchemaProblem[]): number {
  return problems.length + (problems.some(({ path }) => MARKS.includes(path)) ? 100 : 0);
}
