import type { CheckResult } from '../../engine/events.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { baselineChanges, readBaseline } from '../../state/snapshot/baseline.ts';
import { changeList, PROTECTION_TEXTS } from './messages.ts';
import { unchangedSet } from './protection.ts';

const NAME = 'unchanged';

/** Returns the files, relative to the project, that have to be as they were at the start. */
export function unchangedFiles(files: LoopFiles, contract: Contract): readonly string[] {
  const { unchanged } = contract;
  return unchanged === undefined ? [] : Object.keys(readBaseline(files, contract, unchanged)?.files ?? {});
}

/** Checks that the files under `unchanged` have the same names, bytes and permissions as at the start. */
export function checkUnchanged(files: LoopFiles, contract: Contract, env: NodeJS.ProcessEnv): CheckResult[] {
  if (contract.unchanged === undefined) return [];
  const baseline = readBaseline(files, contract, contract.unchanged);
  if (baseline === null) return [{ name: NAME, outcome: 'unavailable', detail: PROTECTION_TEXTS.noSnapshot }];
  const changes = baselineChanges(files, baseline, unchangedSet(files, contract, env));
  if (changes.length === 0) return [{ name: NAME, outcome: 'ok', detail: 'all files are as they were at the start.' }];
  const detail = PROTECTION_TEXTS.fixed(changeList(changes, files.projectDir));
  return [{ name: NAME, outcome: 'failed', detail }];
}
