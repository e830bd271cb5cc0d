import type * as z from 'zod';
import { canonicalKeys } from '../frontmatter/canonical-keys.ts';
import { type KeyProblem, keyPath, printableValue, shownValue } from '../frontmatter/problem.ts';
import { frontmatterSchema, TASK_KEYS } from '../frontmatter/schema.ts';
import { commandTimeoutProblems, crossKeyProblems, idleProblems } from './cross-key-problems.ts';

interface ReadOptions {
  readonly cap?: number;
  /** True if these settings are complete, so that relations between keys can be checked. */
  readonly whole: boolean;
  /** Task keys that are allowed here; a project may set `reflect_every` for all its loops. */
  readonly taskKeys: 'all' | 'reflect_every' | 'none';
  /** Default timeout of an iteration in seconds; null for no limit. */
  readonly timeout?: number | null;
}

/** Checks settings of a frontmatter or configuration file against the schema and finds all problems. */
export function readSettings(raw: object, { cap, whole, taskKeys, timeout = null }: ReadOptions) {
  const schema = frontmatterSchema(cap);
  const problems: KeyProblem[] = [];
  const value = canonicalKeys(raw, schema, problems) as Record<string, unknown>;
  const parsed = schema.safeParse(value);
  if (!parsed.success) problems.push(...parsed.error.issues.flatMap(unfolded).map((issue) => keyProblem(issue, value)));
  problems.push(...crossKeyProblems(value));
  if (taskKeys !== 'all') problems.push(...misplacedKeys(value, taskKeys));
  else if (whole) problems.push(...commandTimeoutProblems(value, timeout));
  const idle = schema.shape.idle.safeParse(value['idle']);
  if (whole && idle.success && idle.data) problems.push(...idleProblems(idle.data));
  const failed = problems.some(({ severity }) => severity === 'error');
  return { settings: failed || !parsed.success ? null : parsed.data, problems };
}

function misplacedKeys(settings: Readonly<Record<string, unknown>>, allowed: string): KeyProblem[] {
  return TASK_KEYS.filter((key) => settings[key] !== undefined && key !== allowed).map((key) => {
    const message = `${key} belongs in a task file (PROMPT.md, RALPH.md or task.md).`;
    return { keys: [key], value: printableValue(settings[key]), rule: 'task-file-only', message, severity: 'error' };
  });
}

type Issue = z.core.$ZodIssue;

/** Picks the form of a union that matches the value's type and keys, so that the relevant problems are reported. */
function unfolded(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const forms = issue.errors.filter(
    (inner) => !inner.some(({ code, path }) => code === 'invalid_type' && path.length === 0),
  );
  const form = forms.find((inner) => !inner.some(({ code }) => code === 'unrecognized_keys')) ?? forms[0];
  return form ? form.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }) as Issue) : [issue];
}

function keyProblem(issue: Issue, root: unknown): KeyProblem {
  const keys = issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key));
  const value = keys.reduce<unknown>(
    (inner, key) => (inner as Record<string | number, unknown> | undefined)?.[key],
    root,
  );
  const path = keyPath(keys);
  const message =
    value === undefined ? `${path} is missing.` : `${path} ${issue.message}, but is ${shownValue(value)}.`;
  const rule = value === undefined ? 'required' : ruleOf(issue);
  return { keys, value: printableValue(value), rule, message, severity: 'error' };
}

function ruleOf(issue: Issue): string {
  switch (issue.code) {
    case 'custom':
      return String(issue.params?.['rule'] ?? 'form');
    case 'too_big':
    case 'too_small':
      return 'range';
    case 'invalid_value':
      return 'one-of';
    default:
      return 'type';
  }
}
