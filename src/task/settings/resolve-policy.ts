import type { Policy } from '../../engine/schema/contract.ts';
import { keyPath, type Problem, withoutPlace } from '../frontmatter/problem.ts';
import { type Frontmatter, ITERATION_CAP, TASK_KEYS } from '../frontmatter/schema.ts';
import { hasFolder, type TaskKind, takesTaskKeys } from '../task-file.ts';
import { commandTimeoutProblems, idleProblems } from './check-settings.ts';
import { BY_FILE, type EffectiveValues, effectiveValues } from './defaults.ts';
import { KEY_PATHS, type Layer, type SettingSources, type Source, settingLayers, valueAt } from './layers.ts';
import { readValues, type TaskSettings } from './read-values.ts';

/** Settings besides the policy. null: the client's own. */
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
      /** Values over which a value takes precedence, by key path; nothing for a key that one source alone sets. */
      readonly overridden: Readonly<Record<string, readonly unknown[]>>;
      readonly problems: readonly Problem[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Resolves key by key. An invalid value is an error in every layer, even if another one overrides it. */
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

/** Merges groups key by key, lists as a whole. */
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

/** Returns whether there are task terms: always for a task folder, for a prompt file only if it sets one of their keys. */
function hasTaskTerms(sources: Readonly<Record<string, Source>>, kind: TaskKind): boolean {
  if (kind !== 'prompt') return hasFolder(kind);
  const isOwn = (key: string): boolean => sources[key] === 'flag' || sources[key] === 'frontmatter';
  return TASK_KEYS.some(isOwn);
}
