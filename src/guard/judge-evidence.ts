import { homedir } from 'node:os';
import type { Guardrails } from '../core/schema/contract.ts';
import { ALLOWLIST, judgeCommandRules } from './commands/judge-command-rules.ts';
import { FOLDS_CASE } from './comparable-path.ts';
import { readShellCommand } from './shell/read-shell-command.ts';

/**
 * The rule that forbids one of the contract's own commands, as the user wrote it; null where it may run. The user gave
 * these commands: rules about files, what cannot be decided, and the loop's own files do not hold for them.
 */
export function judgeEvidence(run: string, directory: string, rules: Guardrails): string | null {
  if (rules.blockCommands.length === 0 && rules.shellAllow === null) return null;
  const reading = readShellCommand(run, { cwd: directory, home: homedir() });
  // An allowlist cannot vouch for what was not read.
  const unread = reading.undecidable.some(({ kind }) => /^(parse-error|too-large|too-deep)$/.test(kind));
  if (unread && rules.shellAllow !== null) return ALLOWLIST;
  return judgeCommandRules(run, reading, rules, FOLDS_CASE)?.rule ?? null;
}
