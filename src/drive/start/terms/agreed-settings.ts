import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { readRecord, writeRecord } from '../../../state/files/regular-file.ts';
import { sha256 } from '../../../state/hash-contract.ts';
import { outsideRoot } from '../../../state/loop-files.ts';
import type { Frontmatter } from '../../../task/frontmatter/schema.ts';
import { KEY_PATHS, type Source, valueAt } from '../../../task/settings/resolve-policy.ts';
import { WORKTREES } from '../../../task/task-file.ts';
import { RalphError, startOn } from '../../../text/message.ts';
import { START_TEXTS } from '../../turn/messages.ts';
import type { Prepared, Resolved, StartRequest } from '../stages.ts';

/** A setting of the task file or a configuration file that starts a program or widens what the agent may do. */
export interface RiskySetting {
  readonly line: string;
  readonly digest: string;
}

/** Maximum number of agreements that are kept; older ones are dropped. */
const MOST = 1_000;

/**
 * Returns the settings of the task file and of configuration files that widen what may run or be reached and to which the
 * user has not yet agreed. Options are the user's own.
 */
export function unagreedSettings(
  { projectDir, env, mode: driver = 'hook', agreed = [] }: Pick<StartRequest, 'projectDir' | 'env' | 'mode' | 'agreed'>,
  { sources, values, overridden }: Resolved,
): RiskySetting[] {
  const known = new Set([...remembered(env), ...agreed]);
  return KEY_PATHS.flatMap((key): RiskySetting[] => {
    const source = sources[key] ?? 'default';
    const value = valueAt(values, key);
    const isFromFile = source === 'frontmatter' || source.endsWith(' config');
    if (!isFromFile || value === null || value === undefined) return [];
    if (!widens(key, value, { source, driver, wider: overridden[key] ?? [] })) return [];
    const setting = riskySetting(projectDir, source, key, value);
    return known.has(setting.digest) ? [] : [setting];
  });
}

/** Returns a setting in the form that is shown and remembered; a project's setting counts only there. */
export function riskySetting(projectDir: string, source: Source, key: string, value: unknown): RiskySetting {
  // A worktree belongs to its main project.
  const [project = projectDir] = realpathSync(projectDir).split(`/${WORKTREES}/`);
  const place = source === 'user config' ? null : project;
  const digest = sha256(JSON.stringify([place, key, value]));
  const from = source === 'frontmatter' ? 'task file' : source;
  return { line: `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}  (${from})`, digest };
}

/** Returns the command that starts what is requested, without the program. */
export function startOf(
  { mode = 'hook', plan }: Pick<StartRequest, 'mode' | 'plan'>,
  { taskPath }: Pick<Prepared['terms'], 'taskPath'>,
): string {
  return startOn(mode, taskPath, Boolean(plan));
}

/** Throws RalphError `refused` for settings that the user has not agreed to. */
export function requireAgreed({ request, resolved, terms }: Prepared): void {
  const open = request.consented ? unagreedSettings(request, resolved) : [];
  if (open.length === 0) return;
  throw new RalphError('refused', START_TEXTS.settingsUnagreed(open, startOf(request, terms)));
}

export function rememberAgreed(env: NodeJS.ProcessEnv, settings: readonly Pick<RiskySetting, 'digest'>[]): void {
  if (settings.length === 0) return;
  const all = new Set([...remembered(env), ...settings.map(({ digest }) => digest)]);
  writeRecord(pathOf(env), [...all].slice(-MOST));
}

/** Returns the agreements; none for an unreadable file, so that the user is asked again. */
function remembered(env: NodeJS.ProcessEnv): string[] {
  const found = readRecord<unknown[]>(pathOf(env));
  return Array.isArray(found) ? found.map(String) : [];
}

function pathOf(env: NodeJS.ProcessEnv): string {
  return join(outsideRoot(env), 'agreed-settings.json');
}

/** Source of a value, and the values that it overrides. */
interface ValueOrigin {
  readonly source: Source;
  /** Values of the same key in files of a wider scope, which this one overrides. */
  readonly wider: readonly unknown[];
  readonly driver: 'hook' | 'runner' | 'router';
}

/** Returns whether a value from a file widens what may run or be reached. */
type Widens = (value: unknown, origin: ValueOrigin) => boolean;

/** One answer for a key with everything in it, or one for each key of a group. */
type Classified<T> = {
  readonly [K in keyof T]-?:
    | Widens
    | (NonNullable<T[K]> extends readonly unknown[] ? never : GroupOf<NonNullable<T[K]>>);
};
type GroupOf<T> = T extends object ? Classified<T> : never;

const always: Widens = () => true;

/** For keys that describe, limit or check the work. By starting a loop, its user agrees to the commands that check it. */
const never: Widens = () => false;

/** Modes that allow no more than a start without a mode. */
const HARMLESS_MODES = ['default', 'plan', 'acceptEdits'];

const isLonger: Widens = (value) => !Array.isArray(value) || value.length > 0;

/** Returns whether rules in a file of wider scope are missing here. */
const dropsRules: Widens = (value, { wider }) => {
  const kept = new Set((Array.isArray(value) ? value : []).map((rule) => JSON.stringify(rule)));
  return wider.some((rules) => Array.isArray(rules) && rules.some((rule) => !kept.has(JSON.stringify(rule))));
};

const isOther: Widens = (value, { wider }) => wider.some((other) => JSON.stringify(other) !== JSON.stringify(value));

const SANDBOX_MODES = ['off', 'auto', 'on'];

const confinesLess: Widens = (value, { source, wider }) => {
  // The user's own configuration stores their answer to the question about the sandbox.
  if (value === 'off') return source !== 'user config';
  return wider.some((other) => SANDBOX_MODES.indexOf(String(other)) > SANDBOX_MODES.indexOf(String(value)));
};

/** Every key of a file, and when its value needs a person's consent. */
const KEYS: Classified<Frontmatter> = {
  validation: never,
  unchanged: never,
  may_change: never,
  may_run: isLonger,
  verify_in: never,
  baseline: never,
  completion_signal: never,
  completion_promise: never,
  signal_match: never,
  reinject: never,
  idle: never,
  breaker: never,
  budget: never,
  max_tasks: never,
  commit_message: never,
  commit_footers: never,
  background_wait: never,
  inter_iteration_delay: never,
  timeout: never,
  stop_on_error: never,
  // A session is always one of Claude Code.
  agent: (_, { driver }) => driver === 'runner',
  model: never,
  effort: never,
  permission_mode: (value) => !HARMLESS_MODES.includes(String(value)),
  isolation: (value) => value === 'client',
  guardrails: {
    block_commands: dropsRules,
    protected_files: dropsRules,
    private_files: dropsRules,
    shell_policy: isOther,
    lift: isLonger,
    strict: (value, { wider }) => value === false && wider.includes(true),
  },
  sandbox: {
    mode: confinesLess,
    allow_write: isLonger,
    deny_write: dropsRules,
    deny_read: dropsRules,
    network: (value) => value !== false,
  },
  worktree_setup: always,
  accept: never,
  notify: { on: never, command: always, url: always, template: never, bell: never },
  worktree_copy: never,
  findings_log: never,
  args: never,
  commands: never,
  items_per_iteration: never,
  reflect_every: never,
  completion_gate: never,
  required_outputs: never,
  open_questions: never,
  max_iterations: never,
};

/** Paths of the keys with an answer of their own: `agent`, `sandbox.mode`. */
export const CLASSIFIED_KEYS: readonly string[] = Object.entries(KEYS).flatMap(([key, answer]) =>
  typeof answer === 'function' ? [key] : Object.keys(answer).map((inner) => `${key}.${inner}`),
);

/** Returns whether the value of a key in a file needs a person's consent. */
export function widens(path: string, value: unknown, origin: ValueOrigin): boolean {
  const answer = valueAt(KEYS, path);
  return typeof answer === 'function' && (answer as Widens)(value, origin);
}
