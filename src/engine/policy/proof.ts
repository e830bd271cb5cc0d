import type { CheckResult } from '../events.ts';
import type { Baseline, Proof } from '../schema/proof.ts';

export interface ProofFacts {
  /** Results before the work; undefined if they are unknown. */
  readonly baseline: Baseline | undefined;
  /** Results of an accepted claim: all passed. */
  readonly results: readonly Pick<CheckResult, 'name' | 'outcome' | 'refutesOnly'>[];
  /** Says if a file of the project, other than the loop's own, changed since the baseline. */
  readonly changed: 'yes' | 'no' | 'unknown';
}

/**
 * Returns what a completion rests on. A check that passed before as well shows only that nothing broke, so work that changed
 * no file is unproved. A check without an earlier result makes the proof `green`, unless another one turned from red to green.
 */
export function proofOf({ baseline, results, changed }: ProofFacts): Proof {
  const proving = results.filter(({ refutesOnly }) => refutesOnly !== true);
  if (proving.length === 0) return 'none';
  if (baseline === undefined) return 'green';
  const before = proving.map(({ name }) => earlierOutcome(baseline, name));
  if (before.includes('failed')) return 'red-to-green';
  if (before.includes(null)) return 'green';
  return changed === 'yes' ? 'still-green' : 'none';
}

/** Returns the results of checks as a baseline. Those that prove no work are left out. */
export function baselineOf(results: readonly CheckResult[]): Baseline {
  return {
    checks: results
      .filter(({ refutesOnly }) => refutesOnly !== true)
      .map(({ name, outcome, tests }) => ({
        name,
        outcome: outcome === 'ok' ? 'passed' : 'failed',
        ...(tests && { tests: { ...tests, failures: [...tests.failures] } }),
      })),
  };
}

/** Returns the result of a check in the baseline, null if it has none. Of two checks with one name, both must have failed. */
function earlierOutcome({ checks }: Baseline, name: string): 'passed' | 'failed' | null {
  const known = checks.filter((check) => check.name === name);
  if (known.length === 0) return null;
  return known.every(({ outcome }) => outcome === 'failed') ? 'failed' : 'passed';
}
