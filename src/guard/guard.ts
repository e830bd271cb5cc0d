import { existsSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import type { Guardrails } from '../engine/schema/contract.ts';
import { namesIn } from '../state/files/regular-file.ts';
import { comparableForms, comparablePath, type RealPath, realPaths } from './comparable-path.ts';

export function hasRules({ blockCommands, shellAllow, protectedFiles, privateFiles, strict }: Guardrails): boolean {
  return (
    strict || shellAllow !== null || blockCommands.length > 0 || protectedFiles.length > 0 || privateFiles.length > 0
  );
}

/** Input of the guard, resolved at the start of a loop and stored in its contract. */
export interface GuardRules {
  readonly projectDir: string;
  readonly home: string;
  /** Absolute paths; a directory protects everything below it. */
  readonly ownFiles: readonly string[];
  /** Files in `dir` whose name begins with `prefix` (ralph-state.json, ralph-state.NAME.json). */
  readonly ownGlobs?: ReadonlyArray<{ readonly dir: string; readonly prefix: string }>;
  /** Files of this name anywhere below `dir`, even in folders that do not exist yet. */
  readonly ownNames?: ReadonlyArray<{ readonly dir: string; readonly name: string }>;
  /** Absolute paths of the copies of main.cjs and of launchers. */
  readonly controlProgram: readonly string[];
  /** Subcommands of the control program that an agent may run. */
  readonly agentCommands: readonly string[];
  /** True if file names ignore case. */
  readonly caseInsensitive: boolean;
  /** Further variables that the agent's shell is known to have (XDG_STATE_HOME, CLAUDE_CONFIG_DIR). */
  readonly variables?: Readonly<Record<string, string>>;
  /** Folders to which file tools may write if a sandbox confines the commands; absent without a sandbox. */
  readonly writable?: readonly string[];
  /** Writable scope of a plan's task; absent without a plan. */
  readonly scope?: TaskScope | null;
  /** The user's own rules; absent or null if the loop has none. */
  readonly guardrails?: Guardrails | null;
}

export interface TaskScope {
  readonly task: string;
  /** Paths and globs relative to the project; empty: the whole project. */
  readonly entries: readonly string[];
  /** Names of folders that tools fill, at any depth. */
  readonly free: readonly string[];
  readonly noPushTo: readonly string[];
}

export interface ToolCall {
  readonly tool: string;
  readonly input: unknown;
  /** Working directory of the session, absolute. */
  readonly cwd: string;
}

/** `recorded`: undecidable parts that were allowed. */
export type Verdict =
  | { readonly decision: 'allow'; readonly recorded: readonly string[] }
  | { readonly decision: 'deny'; readonly rule: string; readonly message: string };

export type Denial = Extract<Verdict, { readonly decision: 'deny' }>;

export function deny(rule: string, message: string): Denial {
  return { decision: 'deny', rule, message };
}

export interface Guard {
  readonly rules: GuardRules;
  readonly own: readonly ProtectedPath[];
  /** Comparable forms, as given and resolved. */
  readonly project: readonly string[];
  /** Copies of the control program and launchers, as given and resolved. */
  readonly control: readonly string[];
  /** Resolves symlinks, each path once: a guard evaluates one call. */
  readonly real: RealPath;
}

export function prepareGuard(rules: GuardRules): Guard {
  const { projectDir, controlProgram, caseInsensitive } = rules;
  const real = realPaths();
  return {
    rules,
    own: protectedPaths(rules, real),
    project: comparableForms(projectDir, caseInsensitive, real),
    control: controlProgram.flatMap((path) => comparableForms(path, caseInsensitive, real)),
    real,
  };
}

export interface ProtectedPath {
  readonly path: string;
  /** True if `path` is the beginning of file names, not a whole name. */
  readonly prefix: boolean;
  /** Name in the rules, for messages. */
  readonly label: string;
}

/** Returns the loop's own files as given and as resolved by symlinks. */
function protectedPaths(rules: GuardRules, real: RealPath): ProtectedPath[] {
  const entries: ProtectedPath[] = [];
  const seen = new Set<string>();
  const add = (path: string, prefix: boolean, label: string): void => {
    const comparable = comparablePath(path, rules.caseInsensitive);
    if (seen.has(comparable)) return;
    seen.add(comparable);
    entries.push({ path: comparable, prefix, label });
  };
  for (const path of rules.ownFiles) for (const each of [path, real(path)]) add(each, false, path);
  for (const { dir, prefix } of rules.ownGlobs ?? [])
    for (const each of [dir, real(dir)]) add(`${each}${sep}${prefix}`, true, `${dir}${sep}${prefix}*`);
  for (const { dir, name } of rules.ownNames ?? []) {
    for (const below of namesIn(dir)) {
      const path = join(dir, below, name);
      if (existsSync(path)) for (const each of [path, real(path)]) add(each, false, path);
    }
  }
  return entries;
}

export function isInside(target: string, entry: ProtectedPath): boolean {
  return target.startsWith(entry.prefix ? entry.path : `${entry.path}/`) || target === entry.path;
}

export function holds(directory: string, entry: ProtectedPath): boolean {
  return directory === '/' || entry.path.startsWith(`${directory}/`);
}

/** Returns whether a text names the protected path; a common file name counts only together with its directory's. */
export function mentions(text: string, entry: ProtectedPath): boolean {
  const folded = text.toLowerCase();
  const segments = entry.path.toLowerCase().split('/');
  const name = segments.at(-1) ?? '';
  if (!folded.includes(name)) return false;
  return isDistinctive(name) || folded.includes(segments.at(-2) ?? '');
}

/** Returns whether other programs are unlikely to have files of this name. */
export function isDistinctive(name: string): boolean {
  return /ralph|^\.claude$|^settings\.local\.json$/i.test(basename(name)) || basename(name).length > 20;
}
