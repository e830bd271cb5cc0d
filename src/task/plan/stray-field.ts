/** `Files: a, b`, `**Verify:** npm test` */
const FIELD = /^(?:\*\*|__|[*_`])?([a-z][a-z -]{2,30}?)[ \t]*(?:\*\*|__|[*_`])?[ \t]*:(?:\*\*|__|[*_`])?(?:\s|$)/i;

/** What people write in place of a field that a task has, and what to write. */
const MEANT: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:commands?|verify|verification|validat(?:e|ion)|checks?|tests?|run)$/,
    'commands that have to pass stand under "validation:" in the frontmatter of the plan, for all its tasks',
  ],
  [/^(?:scop\w*|files?|paths?|touches)$/, 'what a task may change is written "Scope: "'],
  [
    /^(?:depe?nd\w*(?: \w+)?|blocked by|requires?|needs|after)$/,
    'the tasks that come first are written "Depends on: "',
  ],
  [/^(?:accept\w*(?: \w+)?|criteria|done when|definition of done)$/, 'what has to be true is written "Acceptance: "'],
];

/** What to say of a line below a task that looks like a field and is none; null for every other. */
export function strayField(text: string): string | null {
  const [, name = ''] = FIELD.exec(text) ?? [];
  const [, advice] = MEANT.find(([pattern]) => pattern.test(name.toLowerCase())) ?? [];
  return advice === undefined ? null : `"${name}:" is no field of a task and decides nothing: ${advice}.`;
}

const DEPENDENCY = /\b(?:depends? on|blocked by|requires|needs|after):? *tasks? +\S*\d[^\s,;)]*/i;

/** What to say of a title in which a dependency stands, where no line of the task names one; null for every other. */
export function strayDependency(title: string): string | null {
  const [said] = DEPENDENCY.exec(title) ?? [];
  return said === undefined
    ? null
    : `"${said}" in a title decides nothing: write "- Depends on: " with the tasks that come first on a line of its own below the task.`;
}
