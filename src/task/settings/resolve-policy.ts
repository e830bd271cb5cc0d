import type { Policy } from '../../engine/schema/contract.ts';
import { jsonOrNull } from '../../text/json.ts';
import { bareType, keyPaths, snakeCase } from '../frontmatter/canonical-keys.ts';
import { type KeyProblem, keyPath, type Problem, withoutPlace } from '../frontmatter/problem.ts';
import { type Frontmatter, frontmatterSchema, IN_SECONDS, ITERATION_CAP, TASK_KEYS } from '../frontmatter/schema.ts';
import { hasFolder, type TaskKind, takesTaskKeys } from '../task-file.ts';
import { checkSettings, commandTimeoutProblems, idleProblems } from './check-settings.ts';
import { BY_FILE, type EffectiveValues, effectiveValues } from './defaults.ts';
import { readValues, type TaskSettings } from './read-values.ts';

/** Settings besides the policy; null: the client's own. */
export type Settings = Omit<ReturnType<typeof readValues>['settings'], 'task'> & {
  /** Null for a plan, a list of scenarios, and a prompt file without any of these keys. */
  readonly task: TaskSettings | null;
};

export type ResolvedPolicy =
  | {
      readonly ok: true;
      readonly policy: Policy;
      readonly settings: Settings;
      readonly values: EffectiveValues;
      readonly sources: Readonly<Record<string, Source>>;
      /** Overridden values, by key path; nothing for a key that only one source sets. */
      readonly overridden: Readonly<Record<string, readonly unknown[]>>;
      readonly problems: readonly Problem[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Resolves each key by itself. An invalid value is an error in every layer, even if another one overrides it. */
export function resolvePolicy(input: SettingSources): ResolvedPolicy {
  const { layers, problems } = settingLayers(input);
  const merged = merge(layers);
  const sources = sourcesOf(layers);
  problems.push(...together(merged, sources, input.kind));
  if (problems.some(({ severity }) => severity === 'error')) return { ok: false, problems };
  const values = effectiveValues(merged, input.kind);
  const { policy, settings } = readValues(values, input.kind);
  const task = hasTaskTerms(sources, input.kind) ? settings.task : null;
  return {
    ok: true,
    policy,
    settings: { ...settings, task },
    values,
    sources,
    overridden: overriddenIn(layers),
    problems,
  };
}

const GROUPS = ['idle', 'breaker', 'budget', 'guardrails', 'notify', 'sandbox'] as const;

/** Merges groups key by key, and takes lists as a whole. */
function merge(layers: readonly Layer[]): Frontmatter {
  const merged: Frontmatter = {};
  for (const { settings } of layers.toReversed()) {
    const groups = GROUPS.flatMap((key) => (merged[key] ? [[key, { ...merged[key], ...settings[key] }]] : []));
    Object.assign(merged, settings, Object.fromEntries(groups));
  }
  return merged;
}

function sourcesOf(layers: readonly Layer[]): Record<string, Source> {
  return Object.fromEntries(
    KEY_PATHS.map((path) => [
      path,
      layers.find(({ settings }) => valueAt(settings, path) !== undefined)?.source ?? 'default',
    ]),
  );
}

function overriddenIn(layers: readonly Layer[]): Record<string, readonly unknown[]> {
  const entries = KEY_PATHS.map((path) => {
    const values = layers.map(({ settings }) => valueAt(settings, path)).filter((value) => value !== undefined);
    return [path, values.slice(1)] as const;
  });
  return Object.fromEntries(entries.filter(([, values]) => values.length > 0));
}

/** Performs checks that need the effective values. */
function together(merged: Frontmatter, sources: Readonly<Record<string, Source>>, kind: TaskKind): Problem[] {
  const problems: Problem[] = [];
  const cap = ITERATION_CAP[kind];
  const wanted = merged.max_iterations;
  if (wanted !== undefined && wanted > cap) {
    const message = `the ${sources['max_iterations']}: max_iterations must be an integer from 1 to ${cap} for this kind of task, but is ${wanted}.`;
    problems.push(withoutPlace({ keys: ['max_iterations'], value: wanted, rule: 'range', message, severity: 'error' }));
  }
  for (const problem of merged.idle ? idleProblems(merged.idle) : []) {
    const paths = [keyPath(problem.keys), 'idle.delay'];
    const from = paths.map((key) => `${key} from the ${sources[key]}`).join(', ');
    problems.push(withoutPlace(problem, `${from}: ${problem.message}`));
  }
  if (takesTaskKeys(kind)) {
    const late = commandTimeoutProblems(merged, BY_FILE[kind].values.timeout);
    problems.push(...late.map((problem) => withoutPlace(problem)));
  }
  return problems;
}

/** Returns whether there are task terms: always for a task folder; for a prompt file only if it sets one of their keys. */
function hasTaskTerms(sources: Readonly<Record<string, Source>>, kind: TaskKind): boolean {
  if (kind !== 'prompt') return hasFolder(kind);
  const isOwn = (key: string): boolean => sources[key] === 'flag' || sources[key] === 'frontmatter';
  return TASK_KEYS.some(isOwn);
}

/** Source of a value, in order of precedence. `run config` is the project's file for loop directories and runners. */
export type Source =
  | 'flag'
  | 'environment'
  | 'frontmatter'
  | 'loop config'
  | 'run config'
  | 'project config'
  | 'user config'
  | 'default';

export type ConfigSource = Extract<Source, `${string} config`>;

export interface SettingSources {
  readonly kind: TaskKind;
  /** Values by key path, such as `idle.delay`; numbers may be text. */
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly frontmatter?: Frontmatter | null;
  /** Parsed JSON, the narrowest scope first; null or undefined without a file. */
  readonly configs?: Partial<Readonly<Record<ConfigSource, unknown>>>;
  readonly paths?: Partial<Readonly<Record<ConfigSource, string>>>;
}

interface Layer {
  readonly source: Source;
  readonly settings: Frontmatter;
}

const VARIABLES = {
  RALPH_MAX_ITERATIONS: 'max_iterations',
  RALPH_COMPLETION_SIGNAL: 'completion_signal',
  RALPH_CIRCUIT_BREAKER_THRESHOLD: 'breaker.findings',
} as const;

const KEY_TYPES = new Map(keyPaths(frontmatterSchema()).map(({ path, type }) => [path, type]));

export const KEY_PATHS: readonly string[] = [...KEY_TYPES.keys()];

/** Returns the milliseconds of a key's value; null for a key that is not a duration. */
export function durationOf(path: string, value: unknown): number | null {
  if (typeof value !== 'number' || bareType(KEY_TYPES.get(path))?.def.type !== 'pipe') return null;
  return IN_SECONDS.includes(path) ? value * 1000 : value;
}

export function valueAt(settings: object, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | null | undefined)?.[key], settings);
}

function settingLayers(sources: SettingSources): { layers: Layer[]; problems: Problem[] } {
  const problems: Problem[] = [];
  const layers: Layer[] = [];
  const { configs = {} } = sources;
  const add = (source: Source, raw: unknown, origin: (path: string) => string): void => {
    if (raw === undefined || raw === null) return;
    if (typeof raw !== 'object' || Array.isArray(raw)) {
      const problem = { keys: [], value: null, rule: 'not-a-mapping', message: 'it must be a mapping.' };
      problems.push(placed({ ...problem, severity: 'error' }, origin));
      return;
    }
    // Task keys are allowed only in a loop's own configuration and flags.
    const ofLoop = source === 'loop config' || (source === 'flag' && takesTaskKeys(sources.kind));
    const read = checkSettings(raw, {
      ...(ofLoop && { cap: ITERATION_CAP[sources.kind] }),
      whole: false,
      taskKeys: ofLoop ? 'all' : source in configs ? 'reflect_every' : 'none',
    });
    // A mistyped key in a file has no effect; on the command line, ignoring it would drop an explicit request.
    const asError = (problem: KeyProblem): KeyProblem =>
      source === 'flag' && problem.rule === 'unknown-key' ? { ...problem, severity: 'error' } : problem;
    const found = source in configs ? withUnknownKeysTogether(read.problems) : read.problems;
    problems.push(...found.map((problem) => placed(asError(problem), origin)));
    if (read.settings !== null) layers.push({ source, settings: read.settings });
  };
  add('flag', nested(sources.flags ?? {}), () => 'an option');
  const names = new Map<string, string>(Object.entries(VARIABLES).map(([name, key]) => [key, name]));
  add('environment', nested(variables(sources.env ?? {})), (path) => `${names.get(path) ?? path} in the environment`);
  if (sources.frontmatter) layers.push({ source: 'frontmatter', settings: sources.frontmatter });
  for (const [source, raw] of Object.entries(configs) as [ConfigSource, unknown][])
    add(source, raw, () => sources.paths?.[source] ?? `the ${source}`);
  return { layers, problems };
}

/** Joins the problems of unknown keys, such as those of another tool, into one; not those with a suggestion. */
function withUnknownKeysTogether(problems: readonly KeyProblem[]): readonly KeyProblem[] {
  const isUnknown = ({ rule, message }: KeyProblem): boolean => rule === 'unknown-key' && !message.includes('mean');
  const [first, ...more] = problems.filter(isUnknown);
  if (first === undefined || more.length === 0) return problems;
  const names = [first, ...more].map(({ keys }) => keyPath(keys)).join(', ');
  const together = { ...first, message: `${names} are not known keys and do nothing.` };
  return problems.flatMap((problem) => (problem === first ? [together] : isUnknown(problem) ? [] : [problem]));
}

function placed(problem: KeyProblem, origin: (path: string) => string): Problem {
  return withoutPlace(problem, `${origin(keyPath(problem.keys))}: ${problem.message}`);
}

/** Returns the settings in variables; empty ones count as unset. */
function variables(env: Readonly<Record<string, string | undefined>>): Record<string, unknown> {
  const set: Record<string, unknown> = {};
  for (const [name, path] of Object.entries(VARIABLES)) {
    if (env[name] !== undefined && env[name] !== '') set[path] = env[name];
  }
  return set;
}

/** Nests `{'idle.delay': '5'}` as `{idle: {delay: 5}}`, converting text to the type of the key. Lists are written as JSON. */
function nested(flat: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const root: Record<string, unknown> = Object.create(null);
  for (const [path, value] of Object.entries(flat)) {
    if (value === undefined) continue;
    const keys = path.split('.');
    const last = keys.pop() ?? path;
    let at = root;
    for (const key of keys) {
      // Without a prototype: a flag may come from an agent, and `idle.__proto__.x` must change nothing here.
      at[key] = Object.assign(Object.create(null), typeof at[key] === 'object' ? at[key] : null);
      at = at[key] as Record<string, unknown>;
    }
    at[last] = typeof value === 'string' ? typed(value, path) : value;
  }
  return root;
}

function typed(text: string, path: string): unknown {
  const expected = bareType(KEY_TYPES.get(path) ?? KEY_TYPES.get(snakeCase(path)))?.def.type;
  if (expected === 'number' && /^-?\d{1,15}(\.\d+)?$/.test(text)) return Number(text);
  if ((expected === 'boolean' || expected === 'union') && (text === 'true' || text === 'false')) return text === 'true';
  const hasParts = expected === 'array' || expected === 'object' || expected === 'union';
  return (hasParts && /^\s*[[{]/.test(text) && jsonOrNull(text)) || text;
}
