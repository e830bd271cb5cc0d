import type { CheckResult } from '../../engine/events.ts';
import type { StoredContract } from '../../state/contract-store.ts';

/** The slow things that a turn may need; given by the entry, so that a test can give its own. */
export interface TurnWork {
  /** Runs the contract's checks; empty when there is nothing to check. */
  runChecks(
    stored: StoredContract | null,
    projectDir: string,
    options: {
      readonly signal: AbortSignal;
      readonly env: NodeJS.ProcessEnv;
      readonly contractHash: string | null;
      /** The one that made the claim, from 1. */
      readonly iteration: number;
    },
  ): Promise<readonly CheckResult[]>;
  /** Fingerprint of the watched files and of the task file. */
  watchFingerprint(projectDir: string, globs: readonly string[], taskPath: string): string;
  /** Fingerprint of everything in the project but the loop's own files. */
  projectFingerprint(projectDir: string): string;
}
