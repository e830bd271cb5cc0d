import type { Guardrails } from '../engine/schema/contract.ts';
import { undecidedDenied } from './messages.ts';

export function hasRules({ blockCommands, shellAllow, protectedFiles, privateFiles, strict }: Guardrails): boolean {
  return (
    strict || shellAllow !== null || blockCommands.length > 0 || protectedFiles.length > 0 || privateFiles.length > 0
  );
}

/** Input of the guard, resolved at the start of a loop and stored in its contract. */
export interface GuardRules {
  readonly projectDir: string;
  readonly home: string;
  /** Absolute paths; a directory protects all below it. */
  readonly ownFiles: readonly string[];
  /** Every file of `dir` whose name begins with `prefix` (ralph-state.json, ralph-state.NAME.json). */
  readonly ownGlobs?: ReadonlyArray<{ readonly dir: string; readonly prefix: string }>;
  /** Every file of this name anywhere below `dir`, in folders that are not there yet as well. */
  readonly ownNames?: ReadonlyArray<{ readonly dir: string; readonly name: string }>;
  /** Absolute paths of main.cjs copies and of launchers. */
  readonly controlProgram: readonly string[];
  /** Subcommands of the control program that an agent may run. */
  readonly agentCommands: readonly string[];
  /** File names ignore case. */
  readonly caseInsensitive: boolean;
  /** Further variables that the agent's shell surely has (XDG_STATE_HOME, CLAUDE_CONFIG_DIR). */
  readonly variables?: Readonly<Record<string, string>>;
  /** Folders that file tools may write where a sandbox holds the commands; absent without a sandbox. */
  readonly writable?: readonly string[];
  /** Writable scope of a plan's task; absent without a plan. */
  readonly scope?: TaskScope | null;
  /** The user's own rules; absent or null where the loop has none. */
  readonly guardrails?: Guardrails | null;
}

export interface TaskScope {
  readonly task: string;
  /** Paths and globs from the project; empty: the whole project. */
  readonly entries: readonly string[];
  /** Names of folders that tools fill, wherever they lie. */
  readonly free: readonly string[];
  readonly noPushTo: readonly string[];
}

/** A call of a tool as the PreToolUse hook gets it. */
export interface ToolCall {
  readonly tool: string;
  readonly input: unknown;
  /** Working directory of the session, absolute. */
  readonly cwd: string;
}

/** `recorded`: undecidable parts that were allowed. */
export type Verdict =
  | { readonly decision: 'allow'; readonly recorded: readonly string[] }
  | { readonly decision: 'deny'; readonly rule: string; readonly message: string };

export type Denial = Extract<Verdict, { readonly decision: 'deny' }>;

export function deny(rule: string, message: string): Denial {
  return { decision: 'deny', rule, message };
}

/** Denied wherever the user has any rule: not even the commands are known. */
const UNREAD = new Set(['parse-error', 'too-large', 'too-deep', 'too-many-files']);
/** Denied where a rule is about commands. */
const UNKNOWN_COMMAND = new Set(['dynamic-command', 'dynamic-piped-to-shell']);
/** About files: irrelevant to a user without rules for files. */
const FILES = new Set(['unknown-files', 'many-files', 'dynamic-read']);

/** Denies undecidable parts of a call if the user's rules require it. */
export function evaluateUndecided(
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
  return piece === undefined ? null : deny('undecided', undecidedDenied(piece.kind, piece.text));
}
