import type * as z from 'zod';
import { commandWords } from '../../text/shell/parse-shell.ts';
import { formatDuration, parseSeconds } from '../../text/time.ts';
import { canonicalKeys, suggestion } from '../frontmatter/canonical-keys.ts';
import { type KeyProblem, keyPath, printableValue, shownValue } from '../frontmatter/problem.ts';
import { type Frontmatter, frontmatterSchema, TASK_KEYS } from '../frontmatter/schema.ts';
import { completeIdle } from './defaults.ts';

interface ReadOptions {
  readonly cap?: number;
  /** True if these settings are complete, so that relations between keys can be checked. */
  readonly whole: boolean;
  /** Task keys allowed here; a project may set `reflect_every` for all its loops. */
  readonly taskKeys: 'all' | 'reflect_every' | 'none';
  /** Default timeout of an iteration in seconds; null: no limit. */
  readonly timeout?: number | null;
}

/** Checks settings of a frontmatter or configuration file against the schema and finds all problems. */
export function checkSettings(raw: object, { cap, whole, taskKeys, timeout = null }: ReadOptions) {
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
    value === undefined
      ? `${path} is missing.`
      : `${path} ${issue.message}, but is ${shownValue(value)}.${meant(issue, value)}`;
  const rule = value === undefined ? 'required' : ruleOf(issue);
  return { keys, value: printableValue(value), rule, message, severity: 'error' };
}

/** Returns a question about the value that was probably meant; empty if there is none. */
function meant(issue: Issue, value: unknown): string {
  if (issue.code !== 'invalid_value' || typeof value !== 'string') return '';
  return suggestion(value, issue.values.map(String));
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

type Settings = Readonly<Record<string, unknown>>;

/** Finds problems between keys. Reads the raw settings, so that other errors hide none of them. */
function crossKeyProblems(settings: Settings): KeyProblem[] {
  return [
    ...duplicates(settings, 'validation', nameOf, 'name'),
    ...duplicates(settings, 'commands', nameOf, 'name'),
    ...duplicates(settings, 'args', (entry) => entry, null),
    ...shellPolicyProblems(settings),
    ...agentProblems(settings),
  ];
}

/** Finds timeouts of commands that exceed the iteration's. `byDefault`: the iteration's default timeout, in seconds. */
export function commandTimeoutProblems({ commands, timeout }: Settings, byDefault: number | null): KeyProblem[] {
  const limit = timeout === undefined ? byDefault : parseSeconds(timeout);
  // An invalid limit is reported by its own rule.
  if (limit === null || !isTimeout(limit)) return [];
  return entriesOf(commands).flatMap((entry, index): KeyProblem[] => {
    const value = parseSeconds((entry as { timeout?: unknown } | null)?.timeout);
    if (value === null || !isTimeout(value) || value <= limit) return [];
    const keys = ['commands', index, 'timeout'];
    const origin = timeout === undefined ? 'the default of timeout' : 'timeout';
    const message = `${keyPath(keys)} must be at most ${origin}, ${limit} s, since an iteration waits for its commands, but is ${value} s.`;
    return [{ keys, value, rule: 'command-timeout', message, severity: 'error' }];
  });
}

function isTimeout(seconds: number): boolean {
  return Number.isInteger(seconds) && seconds >= 1 && seconds <= 3600;
}

function nameOf(entry: unknown): unknown {
  return (entry as { name?: unknown } | null)?.name;
}

function duplicates(
  settings: Settings,
  key: string,
  nameIn: (entry: unknown) => unknown,
  inner: string | null,
): KeyProblem[] {
  const first = new Map<string, number>();
  const problems: KeyProblem[] = [];
  for (const [index, entry] of entriesOf(settings[key]).entries()) {
    const name = nameIn(entry);
    if (typeof name !== 'string') continue;
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, index);
    else {
      const keys = inner === null ? [key, index] : [key, index, inner];
      const message = `${keyPath(keys)} must be unique, but ${key}[${earlier}] is also named ${shownValue(name)}.`;
      problems.push({ keys, value: name, rule: 'unique', message, severity: 'error' });
    }
  }
  return problems;
}

function shellPolicyProblems({ guardrails }: Settings): KeyProblem[] {
  const policy = (guardrails as { shell_policy?: unknown } | null | undefined)?.shell_policy;
  const { mode, allow } = (policy ?? {}) as { mode?: unknown; allow?: unknown };
  const keys = ['guardrails', 'shell_policy', 'allow'];
  const problem = (message: string): KeyProblem[] => [
    { keys, value: null, rule: 'shell-policy', message: `${keyPath(keys)} ${message}`, severity: 'error' },
  ];
  if (mode === 'allowlist' && (allow === undefined || (Array.isArray(allow) && allow.length === 0)))
    return problem('must name at least one pattern, because the mode is allowlist: nothing could run.');
  if (mode === 'blocklist' && allow !== undefined)
    return problem('must be left out, because the mode is blocklist: name what is refused under block_commands.');
  return [];
}

export function entriesOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function idleProblems(block: NonNullable<Frontmatter['idle']>): KeyProblem[] {
  const { delay, max_delay, max } = completeIdle(block);
  const problems: KeyProblem[] = [];
  const require = (key: 'max_delay' | 'max', value: number): void => {
    if (value >= delay) return;
    const [limit, least] = [formatDuration(value), formatDuration(delay)];
    const origin = block[key] === undefined ? ', the default' : '';
    const message = `idle.${key} must be at least idle.delay (${least}), but is ${limit}${origin}.`;
    problems.push({ keys: ['idle', key], value: block[key] ?? null, rule: 'idle-order', message, severity: 'error' });
  };
  require('max_delay', max_delay);
  require('max', max);
  return problems;
}

const WRAPPERS = new Set(
  'env timeout nice nohup time command exec setsid sudo stdbuf xargs npx pnpx bunx pnpm yarn'.split(' '),
);

/** Returns whether a shell command starts Claude Code itself: by name or path, after a wrapper, or from its package. */
function startsClaude(command: string): boolean {
  return commandWords(command).some((words) => {
    if (words.some((word) => /@anthropic-ai\/claude-code(?:@|\/|$)/.test(word))) return true;
    for (const word of words) {
      const name = word.slice(word.lastIndexOf('/') + 1);
      if (/^claude(?:\.exe|\.cmd)?$/.test(name)) return true;
      const isBefore = WRAPPERS.has(name) || /^-|^[\d.]+[smh]?$|^\w+=/.test(word) || word === 'exec' || word === 'dlx';
      if (!isBefore) return false;
    }
    return false;
  });
}

/** Finds settings that `ralph-loop run` refuses together with an agent command. */
export function agentProblems({ agent }: Readonly<Record<string, unknown>>): KeyProblem[] {
  if (typeof agent !== 'string' || !startsClaude(agent)) return [];
  const message =
    'agent starts Claude Code itself. Leave the key out: ralph-loop starts Claude Code, with guard and cost.';
  return [{ keys: ['agent'], value: agent, rule: 'agent-is-claude', message, severity: 'error' }];
}
