/** Version of the state file. A file with a higher version belongs to a newer program and is left untouched. */
export const SCHEMA_VERSION = 2;

/** Version of the TDD state in the project and of the record outside. A file with a higher version is left untouched. */
export const TDD_VERSION = 1;

/** Version of `proof.json`. */
export const PROOF_VERSION = 1;

/** Timeout with which the Stop hook is registered: idle waits and the gate run inside it. The client allows a day. */
export const STOP_TIMEOUT_SECONDS = 86_400;

export const NOTIFY_KINDS = ['complete', 'blocked', 'paused', 'limit', 'error'] as const;

/** Version of the event stream; its readers ignore types and keys that they do not know. */
export const EVENT_VERSION = 1;

/** The client's tools that can change nothing. A loop without private files has no rule for them. */
export const READERS: readonly string[] = ['Read', 'Grep', 'Glob'];

/** Line for the agent's shell: clients started there stay outside the loop, and it has the user's whole PATH. */
export const SHELL_EXPORTS = 'export RALPH_ACTIVE=0 PATH="${RALPH_WHOLE_PATH:-$PATH}"';

export const MODES = ['acceptEdits', 'auto', 'bypassPermissions', 'default', 'dontAsk', 'manual', 'plan'] as const;
