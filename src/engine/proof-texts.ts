import { type ProofFacts, turnedGreen } from './policy/proof.ts';
import type { Baseline, Proof } from './schema/proof.ts';

/** Returns what a proof says, as a sentence. */
export function proofText(proof: Proof, facts: ProofFacts): string {
  switch (proof) {
    case 'red-to-green': {
      const turned = turnedGreen(facts);
      return turned.length === 1
        ? `${turned.join()} failed before the start and passes now.`
        : `${turned.length} checks failed before the start and pass now.`;
    }
    case 'still-green':
      return 'The checks passed before as well: they show that nothing broke.';
    case 'green':
      return 'Whether the checks passed before the start is unknown.';
    case 'none':
      return `Nothing proves the work: ${unprovedText(facts)}`;
    default:
      return proof satisfies never;
  }
}

/** Returns why a completion is unproved, without the beginning of the sentence. */
export function unprovedText({ results, changed }: ProofFacts): string {
  if (results.every(({ refutesOnly }) => refutesOnly === true)) {
    return 'no checks are configured. Add "validation:" commands to the task file, or "completion_gate: required" to a task folder.';
  }
  const files =
    changed === 'no' ? 'no file of the project changed' : 'whether a file of the project changed is unknown';
  return `every check passed before the start as well, and ${files}.`;
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
