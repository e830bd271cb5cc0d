import { counted } from '../../text/figures.ts';
import type { CheckResult } from '../events.ts';
import { proofOf, turnedGreen } from '../policy/proof.ts';
import type { Baseline, Proof } from '../schema/proof.ts';

/** Work on a task of a plan, from its first attempt on. */
export interface TaskWork {
  /** Changed files inside the task's scope, without plan and progress file. */
  readonly changes: readonly string[];
  readonly noChange: boolean;
  /** Results of the checks when the task began; undefined if they are unknown. */
  readonly baseline: Baseline | undefined;
}

/** Returns whether the work can be evidence, whatever the checks say now: otherwise they need not run. */
export function mayBeProved({ changes, noChange, baseline }: TaskWork): boolean {
  return changes.length > 0 || noChange || (baseline?.checks ?? []).some(({ outcome }) => outcome === 'failed');
}

/** Returns whether a task whose checks have these results has evidence of its own. An unknown earlier result is none. */
export function hasEvidence({ changes, noChange, baseline }: TaskWork, results: readonly CheckResult[]): boolean {
  return changes.length > 0 || noChange || turnedGreen({ baseline, results }).length > 0;
}

export function taskProof({ changes, baseline }: TaskWork, results: readonly CheckResult[]): Proof {
  return proofOf({ baseline, results, changed: changes.length > 0 ? 'yes' : 'no' });
}

/** Returns what a task's completion rests on, in one line: `red-to-green (tests failed before), 2 files changed`. */
export function proofLine(work: TaskWork, results: readonly CheckResult[]): string {
  return `${proofText(work, results)}, ${work.changes.length === 0 ? 'no file' : counted(work.changes.length, 'file')} changed`;
}

function proofText(work: TaskWork, results: readonly CheckResult[]): string {
  const proof = taskProof(work, results);
  const why: Readonly<Record<Proof, string>> = {
    'red-to-green': `${turnedGreen({ baseline: work.baseline, results }).join(', ')} failed before`,
    'still-green': 'the checks passed before as well',
    green: 'what the checks said before is unknown',
    none: work.noChange ? 'the plan says that no change is needed' : 'no check proves it',
  };
  return `${proof} (${why[proof]})`;
}
