import { counted } from '../../text/figures.ts';
import type { CheckResult } from '../events.ts';
import type { Baseline, Proof, TestCounts } from '../schema/proof.ts';

export interface ProofFacts {
  /** Results before the work; undefined if they are unknown. */
  readonly baseline: Baseline | undefined;
  /** Results of an accepted claim: all passed. */
  readonly results: readonly Pick<CheckResult, 'name' | 'outcome' | 'refutesOnly' | 'tests'>[];
  /** Whether a file of the project, other than the loop's own, changed since the baseline; undefined if unknown. */
  readonly changed: 'yes' | 'no' | undefined;
}

/**
 * Returns what a completion rests on. A check that also passed before shows only that nothing broke, so work that changed no
 * file is unproved. A check without an earlier result makes the proof `green`, unless another turned from red to green.
 */
export function proofOf(facts: ProofFacts): Proof {
  const { baseline, changed } = facts;
  const proving = provingResults(facts.results);
  if (proving.length === 0) return 'none';
  if (baseline === undefined) return 'green';
  if (turnedGreen(facts).length > 0) return 'red-to-green';
  if (proving.some(({ name }) => earlierOutcome(baseline, name) === null)) return 'green';
  return changed === 'yes' ? 'still-green' : 'none';
}

/** Returns the names of the checks that failed in the baseline and pass now. */
export function turnedGreen({ baseline, results }: Pick<ProofFacts, 'baseline' | 'results'>): string[] {
  if (baseline === undefined) return [];
  const passed = provingResults(results).filter(({ outcome }) => outcome === 'ok');
  return passed.map(({ name }) => name).filter((name) => earlierOutcome(baseline, name) === 'failed');
}

/** Returns the results of checks as a baseline. Those that prove no work are left out. */
export function baselineOf(results: readonly CheckResult[]): Baseline {
  return {
    checks: provingResults(results).map(({ name, outcome, tests }) => ({
      name,
      outcome: outcome === 'ok' ? 'passed' : 'failed',
      ...(tests && { tests: { ...tests, failures: [...tests.failures] } }),
    })),
  };
}

/** Returns the counts of a test run without its failures. */
export function countsOf({ run, failed, skipped }: TestCounts): TestCounts {
  return { run, failed, skipped };
}

/** Returns whether there are checks and all of them passed: a claim that rests on them alone then proves nothing. */
export function isGreen({ checks }: Baseline): boolean {
  return checks.length > 0 && checks.every(({ outcome }) => outcome === 'passed');
}

/** Returns the baseline after an accepted claim: all of its checks passed. The numbers of tests stay those of the start. */
export function allPassed({ checks }: Baseline): Baseline {
  return { checks: checks.map((check) => ({ ...check, outcome: 'passed' })) };
}

function provingResults<T extends Pick<CheckResult, 'refutesOnly'>>(results: readonly T[]): T[] {
  return results.filter(({ refutesOnly }) => refutesOnly !== true);
}

/** Returns a check's result in the baseline; null if it has none. If two checks share a name, both must have failed. */
function earlierOutcome({ checks }: Baseline, name: string): 'passed' | 'failed' | null {
  const known = checks.filter((check) => check.name === name);
  if (known.length === 0) return null;
  return known.every(({ outcome }) => outcome === 'failed') ? 'failed' : 'passed';
}

/** Work on a task of a plan, from its first attempt on. */
export interface TaskWork {
  /** Changed files inside the task's scope, without plan and progress file. */
  readonly changes: readonly string[];
  readonly noChange: boolean;
  /** Results of the checks when the task began; undefined if they are unknown. */
  readonly baseline: Baseline | undefined;
}

/** Returns whether the work can be evidence, whatever the checks say now; if not, they need not run. */
export function mayBeProved({ changes, noChange, baseline }: TaskWork): boolean {
  return changes.length > 0 || noChange || (baseline?.checks ?? []).some(({ outcome }) => outcome === 'failed');
}

/** Returns whether a task has evidence of its own, given these results. An unknown earlier result is not evidence. */
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
