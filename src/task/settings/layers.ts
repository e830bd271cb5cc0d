import { bareType, keyPaths, snakeCase } from '../frontmatter/canonical-keys.ts';
import { type KeyProblem, keyPath, type Problem, withoutPlace } from '../frontmatter/problem.ts';
import { type Frontmatter, frontmatterSchema, IN_SECONDS, ITERATION_CAP } from '../frontmatter/schema.ts';
import { type TaskKind, takesTaskKeys } from '../task-file.ts';
import { checkSettings } from './check-settings.ts';

/** Source of a value, in order of precedence. `run config` is the project's for loop directories and runners. */
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
  /** Parsed JSON; null or undefined if there is no file. */
  readonly loopConfig?: unknown;
  readonly runConfig?: unknown;
  readonly projectConfig?: unknown;
  readonly userConfig?: unknown;
  readonly paths?: Partial<Readonly<Record<ConfigSource, string>>>;
}

export interface Layer {
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

/** Returns the milliseconds of a key's value; null for a key that is no duration. */
export function durationOf(path: string, value: unknown): number | null {
  if (typeof value !== 'number' || bareType(KEY_TYPES.get(path))?.def.type !== 'pipe') return null;
  return IN_SECONDS.includes(path) ? value * 1000 : value;
}

export function valueAt(settings: object, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | null | undefined)?.[key], settings);
}

export function settingLayers(sources: SettingSources): { layers: Layer[]; problems: Problem[] } {
  const problems: Problem[] = [];
  const layers: Layer[] = [];
  const configs: Record<ConfigSource, unknown> = {
    'loop config': sources.loopConfig,
    'run config': sources.runConfig,
    'project config': sources.projectConfig,
    'user config': sources.userConfig,
  };
  const add = (source: Source, raw: unknown, origin: (path: string) => string): void => {
    if (raw === undefined || raw === null) return;
    if (typeof raw !== 'object' || Array.isArray(raw)) {
      const problem = { keys: [], value: null, rule: 'not-a-mapping', message: 'it must be a mapping.' };
      problems.push(placed({ ...problem, severity: 'error' }, origin));
      return;
    }
    // Task keys belong to one loop: to its own configuration and flags.
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

/** Names the keys of another tool's file, which do nothing here, in one line. */
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

/** Nests `{'idle.delay': '5'}` as `{idle: {delay: 5}}`, converting text to the type of the key. */
function nested(flat: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const root: Record<string, unknown> = Object.create(null);
  for (const [path, value] of Object.entries(flat)) {
    if (value === undefined) continue;
    const keys = path.split('.');
    const last = keys.pop() ?? path;
    let at = root;
    for (const key of keys) {
      // Without a prototype: a flag may come from an agent, and `idle.__proto__.x` must change nothing here.
      if (typeof at[key] !== 'object') at[key] = Object.create(null);
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
  return text;
}
