/** Form of a commit's subject in the source of the plan format. */
export const PLAIN_FORM = 'feat: {id} - {title}';
/** Form that satisfies the rules of conventional commits. */
export const CONVENTIONAL_FORM = '{type}: {title}';

/** Longest first line that config-conventional accepts. */
const HEADER_LIMIT = 100;
export const BODY_LIMIT = 100;

/** A conventional prefix before the title, with or without a scope. */
const PREFIX = /^(?:\{type\}|[a-z]+)(?:\([^)]*\))?!?: \{title\}/;
const OWN_TYPE = /^([a-z]+)(?:\([^)]*\))?!?:\s+(.+)$/;

/** Type of a change, by the words of its title; feat for all others. */
const TYPES: readonly (readonly [RegExp, string])[] = [
  [/^(?:fix|repair|correct)\b/i, 'fix'],
  [/^(?:document|describe)\b|\b(?:docs|documentation|readme|changelog)\b/i, 'docs'],
  [/^(?:test|cover)\b|\btests?$/i, 'test'],
  [/^(?:refactor|rename|extract|simplify)\b/i, 'refactor'],
];

/** Returns why a text is not a valid form of a commit message, or null. */
export function commitFormProblem(form: string): string | null {
  const unknown = [...form.matchAll(/\{([^{}]*)\}/g)].find(([, name = '']) => !KEYS.includes(name));
  if (unknown !== undefined) return `has no ${unknown[0]}; use {type}, {title}, {id} and {plan}`;
  return /\{(?:title|id)\}/.test(form) ? null : 'must have {title} or {id}, which tell the commits apart';
}

const KEYS = ['type', 'title', 'id', 'plan'];

export function planName(planPath: string): string {
  return planPath.slice(planPath.lastIndexOf('/') + 1).replace(/\.(?:md|markdown)$/i, '');
}

/** Returns the first line of a task's commit. With a conventional prefix it satisfies config-conventional. */
export function commitSubject(
  form: string,
  task: { readonly id: string; readonly title: string },
  plan: string,
): string {
  const [, ownType, ownTitle] = OWN_TYPE.exec(task.title) ?? [];
  const isConventional = PREFIX.test(form);
  const title = isConventional ? plainTitle(ownTitle ?? task.title) : task.title;
  const type = ownType ?? TYPES.find(([words]) => words.test(task.title))?.[1] ?? 'feat';
  const values: Record<string, string> = { type, title, id: task.id, plan };
  const scoped = form.replace(
    /\((\{(?:id|plan)\})\)/g,
    (_, key: string) => `(${slug(values[key.slice(1, -1)] ?? '')})`,
  );
  const text = scoped
    .replace(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole)
    .replace(/\s+/g, ' ')
    .trim();
  if (!isConventional || text.length <= HEADER_LIMIT) return text;
  const end = text.lastIndexOf(' ', HEADER_LIMIT);
  return text.slice(0, end > HEADER_LIMIT / 2 ? end : HEADER_LIMIT).replace(/[.,;:\s]+$/, '');
}

/** Makes a title a subject: it begins in lower case and has no full stop. */
function plainTitle(title: string): string {
  return title.replace(/^[A-Z]\S*/, (word) => word.toLowerCase()).replace(/[.\s]+$/, '');
}

const slug = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]+/g, '-');
