import type { Guardrails } from '../core/schema/contract.ts';
import type { Denial } from './guard-rules.ts';
import { undecidedDenied } from './messages.ts';

/** Denied wherever the user has any rule: not even the commands are known. */
const UNREAD = new Set(['parse-error', 'too-large', 'too-deep', 'too-many-files']);
/** Denied where a rule is about commands. */
const UNKNOWN_COMMAND = new Set(['dynamic-command', 'dynamic-piped-to-shell']);
/** About files: what is no business of a user without rules for files. */
const FILES = new Set(['unknown-files', 'many-files', 'dynamic-read']);

/** Denies what could not be decided about a call where the user's rules want that, and says how to write it instead. */
export function judgeUndecided(
  pieces: ReadonlyArray<{ readonly kind: string; readonly text: string }>,
  rules: Guardrails,
): Denial | null {
  const allowlist = rules.shellAllow !== null;
  const strict = rules.strict || allowlist;
  const aboutCommands = allowlist || rules.blockCommands.length > 0;
  const aboutFiles = rules.protectedFiles.length > 0 || rules.privateFiles.length > 0;
  const piece = pieces.find(({ kind }) => {
    if (UNREAD.has(kind)) return strict || aboutCommands || aboutFiles;
    if (UNKNOWN_COMMAND.has(kind)) return strict || aboutCommands;
    return strict && (aboutFiles || !FILES.has(kind));
  });
  return piece === undefined
    ? null
    : { decision: 'deny', rule: 'undecided', message: undecidedDenied(piece.kind, piece.text) };
}
