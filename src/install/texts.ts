/** What the registered hook commands themselves say. No single quotes: they stand inside them in a shell command. */
export const HOOK_MESSAGES = {
  noNode:
    'ralph: the hooks found no node on their PATH, so no loop can run in this session. Put node (20.12 or newer) on the PATH of the shell that starts claude, or export RALPH_NODE=/path/to/node there, and start again.',
  noNodeForGuard:
    'ralph: the guardrails cannot run, because the hooks found no node on their PATH. The user has to put node on the PATH of the shell that starts claude, or export RALPH_NODE=/path/to/node there.',
} as const;
