import { existsSync } from 'node:fs';
import type { Contract } from '../../engine/schema/contract.ts';
import { homeFolder } from '../../state/home-folder.ts';
import { type LoopFiles, loopFiles, readContract, readState } from '../../state/loop-files.ts';
import { listFiles, MOST_ENTRIES } from '../../state/snapshot/list-files.ts';
import { PROTECTION_TEXTS } from '../control/messages.ts';
import { isDriverAlive } from '../control/ownership.ts';
import { fileSet } from '../control/protection.ts';
import { loopNames } from '../status/loop-report.ts';
import { START_TEXTS } from '../turn/messages.ts';

type Named = Pick<Contract, 'projectDir' | 'guardrails' | 'unchanged' | 'sandbox'>;

/**
 * Returns a warning that names the globs and folders of a contract that match no file now; null if there are none. A misspelt
 * one protects nothing. Names for files anywhere, such as `.env*`, and files in the home are left out: they are mostly
 * precautions.
 */
export function unmatchedWarning(contract: Named, env: NodeJS.ProcessEnv): string | null {
  const { projectDir, guardrails, unchanged = [], sandbox } = contract;
  const [protectedFiles, privateFiles] = [guardrails.protectedFiles, guardrails.privateFiles].map((patterns) =>
    patterns.filter((pattern) => pattern.includes('/') && !pattern.startsWith('~')),
  ) as [string[], string[]];
  const unmatched = withoutFiles([...new Set([...protectedFiles, ...privateFiles, ...unchanged])], projectDir, env);
  const rows: ReadonlyArray<readonly [key: string, patterns: readonly string[]]> = [
    ['unchanged', unchanged.filter((pattern) => unmatched.has(pattern))],
    ['guardrails.protected_files', protectedFiles.filter((pattern) => unmatched.has(pattern))],
    ['guardrails.private_files', privateFiles.filter((pattern) => unmatched.has(pattern))],
    ['sandbox.allow_write', sandbox?.allowWrite.filter((path) => !existsSync(path)) ?? []],
  ];
  const named = rows.flatMap(([key, patterns]) => (patterns.length === 0 ? [] : [`${key}: ${patterns.join(', ')}`]));
  return named.length === 0 ? null : PROTECTION_TEXTS.unmatched(named);
}

/** Most comparisons of a path with a glob, about a second's worth: a start waits for them, its state locked. */
const MOST_LOOKS = 150_000;

/** Returns the globs that match no file, after one walk through the folders that they name. */
function withoutFiles(globs: readonly string[], projectDir: string, env: NodeJS.ProcessEnv): ReadonlySet<string> {
  const patterns = globs.filter((glob) => !glob.startsWith('policy:'));
  if (patterns.length === 0) return new Set();
  const home = homeFolder(env);
  const sets = patterns.map((pattern) => [pattern, fileSet(projectDir, home, [pattern])] as const);
  // The whole disk is not searched.
  const isSearched = (glob: string, [root]: readonly string[]): boolean =>
    root !== projectDir || !glob.startsWith('/') || glob.startsWith(`${projectDir}/`);
  const left = new Map(sets.filter(([pattern, set]) => isSearched(pattern, set.roots)));
  const { roots, skips } = fileSet(projectDir, home, patterns);
  let looks = MOST_LOOKS;
  const covers = (path: string): boolean => {
    looks -= left.size;
    if (looks >= 0) for (const [pattern, set] of left) if (set.covers(path)) left.delete(pattern);
    return false;
  };
  // Files not examined may match, so nothing is said about a project that is too large.
  const isSkipped: typeof skips = (folder, names) => left.size === 0 || looks < 0 || skips(folder, names);
  const { cut } = listFiles({ roots, covers, skips: isSkipped }, undefined, MOST_ENTRIES);
  return cut || looks < 0 ? new Set() : new Set(left.keys());
}

/** Returns the other live loops that work in the folder of this one. */
export function otherLoops({ projectDir, name }: LoopFiles, env: NodeJS.ProcessEnv): LoopFiles[] {
  const names = loopNames(projectDir, env).filter((other) => other !== name);
  return names.map((other) => loopFiles(projectDir, other, env)).filter(isLive);
}

/** Returns a warning if another live loop here protects other files, and so restores them after any change; or null. */
export function otherLoopWarning(files: LoopFiles, contract: Contract, env: NodeJS.ProcessEnv): string | null {
  const ours = contract.guardrails.protectedFiles;
  for (const other of otherLoops(files, env)) {
    const theirs = readContract(other)?.contract.guardrails.protectedFiles ?? [];
    const apart = [...ours, ...theirs].filter((pattern) => !(ours.includes(pattern) && theirs.includes(pattern)));
    if (apart.length > 0) return START_TEXTS.otherLoop(other.name, apart);
  }
  return null;
}

function isLive(files: LoopFiles): boolean {
  const current = readState(files.state);
  if (current.kind !== 'loop' || ['ended', 'awaiting-consent'].includes(current.state.status)) return false;
  return isDriverAlive(files, current.state) !== false;
}
