import { RalphError } from '../../text/ralph-error.ts';
import { START_TEXTS } from '../turn/messages.ts';
import { preparedTerms } from './consent.ts';
import { type ConsentTerms, consentDigest } from './consent-terms.ts';
import type { PreparedContract } from './prepare-contract.ts';

/**
 * Returns what a user agrees to, the same on every machine: in place of the sandbox's absolute paths its settings as they
 * are written, no hashes of files in a home directory, and the command that sets up each new work tree.
 */
export function portableTerms(prepared: PreparedContract): ConsentTerms {
  const { sandbox, worktreeSetup } = prepared.resolved.settings;
  const own = preparedTerms(prepared, null).filter(
    ([key]) => !/^sandbox(?:\.|$)/.test(key) && !key.startsWith('script ~'),
  );
  const asWritten = Object.entries(sandbox).map(([key, value]) => [`sandbox.${key}`, JSON.stringify(value)] as const);
  return [...own, ...asWritten, ...(worktreeSetup === null ? [] : [['worktree_setup', worktreeSetup] as const])];
}

/** Names the digest of the terms that a supervised run has to start with; agents and checks never see it. */
const EXPECTED = 'RALPH_EXPECTED_TERMS';

/** Takes the digest out of the environment; undefined where none is expected. */
export function takeExpectedTerms(env: NodeJS.ProcessEnv): string | undefined {
  const expected = env[EXPECTED];
  delete env[EXPECTED];
  return expected;
}

export function expectTerms(digest: string): NodeJS.ProcessEnv {
  return { [EXPECTED]: digest };
}

/** Throws RalphError `contract-changed` for a task that has other terms than the digest stands for. */
export function requireExpectedTerms(expected: string | undefined, prepared: PreparedContract): void {
  if (expected === undefined || consentDigest(portableTerms(prepared)) === expected) return;
  throw new RalphError('contract-changed', START_TEXTS.otherTerms);
}
