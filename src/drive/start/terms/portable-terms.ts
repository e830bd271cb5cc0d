import { readRegularFile, writeAtomically } from '../../../state/files/regular-file.ts';
import { sha256 } from '../../../state/hash-contract.ts';
import { RalphError } from '../../../text/message.ts';
import { START_TEXTS } from '../../turn/messages.ts';
import { preparedTerms } from '../prepare-contract.ts';
import type { PreparedContract } from '../stages.ts';
import type { ConsentTerms } from './consent-terms.ts';

/**
 * Returns the terms to which a user agrees, identical on every machine: the sandbox's settings as written instead of
 * absolute paths, no hashes of files in a home directory, and the command that sets up each new work tree.
 */
export function portableTerms(prepared: PreparedContract): ConsentTerms {
  const { sandbox, worktreeSetup } = prepared.resolved.settings;
  const own = preparedTerms(prepared, null).filter(
    ([key]) => !/^sandbox(?:\.|$)/.test(key) && !key.startsWith('script ~'),
  );
  const asWritten = Object.entries(sandbox).map(([key, value]) => [`sandbox.${key}`, JSON.stringify(value)] as const);
  return [...own, ...asWritten, ...(worktreeSetup === null ? [] : [['worktree_setup', worktreeSetup] as const])];
}

/** Variable that names the terms of a supervised run: SHA-256 and path of a file. Agents and checks never see it. */
const FIXED = 'RALPH_FIXED_TERMS';
const MOST_BYTES = 16 * 1024 * 1024;

/** Writes terms for a run, which uses them instead of the task file, settings and scripts at its start. */
export function passTerms(path: string, fixed: PreparedContract): NodeJS.ProcessEnv {
  const text = JSON.stringify(fixed);
  writeAtomically(path, text, 0o600);
  return { [FIXED]: `${sha256(text)} ${path}` };
}

/** Takes the terms of this run from the environment; undefined if none are fixed. Throws `contract-changed` for others. */
export function takeFixedTerms(env: NodeJS.ProcessEnv): PreparedContract | undefined {
  const [, hash, path] = /^(\w+) (.+)$/s.exec(env[FIXED] ?? '') ?? [];
  delete env[FIXED];
  if (path === undefined) return undefined;
  const text = readRegularFile(path, MOST_BYTES) ?? '';
  if (sha256(text) !== hash) throw new RalphError('contract-changed', START_TEXTS.otherTerms);
  return JSON.parse(text) as PreparedContract;
}
