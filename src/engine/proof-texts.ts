import { type ProofFacts, turnedGreen } from './policy/proof.ts';
import type { Baseline, Proof } from './schema/proof.ts';

export function proofText(proof: Proof, facts: ProofFacts): string {
  const turned = turnedGreen(facts);
  const isOne = turned.length === 1;
  const texts: Readonly<Record<Proof, string>> = {
    'red-to-green': `${isOne ? turned.join() : `${turned.length} checks`} failed before the start and ${isOne ? 'passes' : 'pass'} now.`,
    'still-green': 'The checks passed before as well: they show that nothing broke.',
    green: 'Whether the checks passed before the start is unknown.',
    none: `Nothing proves the work: ${unprovedText(facts)}`,
  };
  return texts[proof];
}

/** Returns why a completion is unproved, as the end of a sentence. */
export function unprovedText({ results, changed }: ProofFacts): string {
  if (results.every(({ refutesOnly }) => refutesOnly === true))
    return 'no checks are configured. Add "validation:" commands or "required_outputs:" to the task file.';
  const files =
    changed === 'no' ? 'no file of the project changed' : 'whether a file of the project changed is unknown';
  return `every check passed before the start as well, and ${files}.`;
}

/**
 * Returns how many tests are gone or skipped since the baseline: `Tests of npm test: 3 tests fewer than at the start, 2
 * skipped.` Null if none are, or if a runner does not print its number of tests.
 */
export function missingTestsText({ baseline, results }: Pick<ProofFacts, 'baseline' | 'results'>): string | null {
  const parts = results.flatMap(({ name, tests }) => {
    const known = (baseline?.checks ?? []).filter((check) => check.name === name);
    const before = known.length === 1 ? known[0]?.tests : undefined;
    if (!before || !tests || before.atLeast || tests.atLeast) return [];
    const fewer = before.run + before.skipped - tests.run - tests.skipped;
    const skipped = tests.skipped - before.skipped;
    const said = [
      ...(fewer > 0 ? [`${fewer} test${fewer === 1 ? '' : 's'} fewer than at the start`] : []),
      ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ];
    return said.length === 0 ? [] : [`${name}: ${said.join(', ')}`];
  });
  return parts.length === 0 ? null : `Tests of ${parts.join('; ')}.`;
}

/** Returns results of checks as one line: `tests failed (2 of 6), lint passed`. */
export function baselineText({ checks }: Baseline): string {
  return checks
    .map(({ name, outcome, tests }) => {
      const count = outcome === 'failed' && tests && tests.failed > 0 ? ` (${tests.failed} of ${tests.run})` : '';
      return `${name} ${outcome}${count}`;
    })
    .join(', ');
}
