import { join } from 'node:path';
import { STOP_TIMEOUT_SECONDS } from '../../engine/schema/constants.ts';
import { shellWord } from '../../text/quote.ts';

/** A hook as the client's settings hold it. With `args` the client starts the command itself, without a shell. */
export interface CommandHook {
  readonly type: 'command';
  readonly command: string;
  readonly args?: readonly string[];
  /** Seconds. */
  readonly timeout: number;
  readonly statusMessage: string;
  readonly onFailure?: 'block';
}

export interface HookGroup {
  readonly matcher?: string;
  readonly hooks: readonly CommandHook[];
}

export type HookEvent =
  | 'SessionStart'
  | 'UserPromptSubmit'
  | 'Stop'
  | 'StopFailure'
  | 'PreToolUse'
  | 'PostToolUse'
  | 'PostToolUseFailure';

export type Registration = Partial<Readonly<Record<HookEvent, readonly HookGroup[]>>>;

/** Seconds that the Stop hook may take: an idle loop sleeps inside it, and the gate runs there. */
const STOP_TIMEOUT = STOP_TIMEOUT_SECONDS;
/** Seconds for the others: ten of them may go to a contended lock. */
const QUICK_TIMEOUT = 30;

interface HookDefinition {
  readonly event: HookEvent;
  readonly file: string;
  readonly timeout: number;
  readonly statusMessage: string;
  /** Reaction to the event if node is missing: `tell` the user, say nothing, or `refuse` the tool call. */
  readonly withoutNode: 'tell' | 'silent' | 'refuse';
}

const SESSION_HOOKS: readonly HookDefinition[] = [
  {
    event: 'SessionStart',
    file: 'ralph-session-start.cjs',
    timeout: QUICK_TIMEOUT,
    statusMessage: 'ralph-loop: looking for a loop',
    withoutNode: 'tell',
  },
  {
    event: 'UserPromptSubmit',
    file: 'ralph-user-prompt-submit.cjs',
    timeout: QUICK_TIMEOUT,
    statusMessage: 'ralph-loop: noting the message',
    withoutNode: 'silent',
  },
  {
    event: 'Stop',
    file: 'ralph-stop-hook.cjs',
    timeout: STOP_TIMEOUT,
    statusMessage: 'ralph-loop: the loop decides',
    withoutNode: 'tell',
  },
  {
    event: 'StopFailure',
    file: 'ralph-stop-failure.cjs',
    timeout: QUICK_TIMEOUT,
    statusMessage: 'ralph-loop: noting the failure',
    withoutNode: 'silent',
  },
];

const TOOL_HOOKS: readonly HookDefinition[] = [
  {
    event: 'PreToolUse',
    file: 'ralph-pre-tool-use.cjs',
    timeout: QUICK_TIMEOUT,
    statusMessage: 'ralph-loop: guardrails',
    withoutNode: 'refuse',
  },
  {
    event: 'PostToolUse',
    file: 'ralph-post-tool-use.cjs',
    timeout: QUICK_TIMEOUT,
    statusMessage: 'ralph-loop: noting the call',
    withoutNode: 'silent',
  },
  {
    event: 'PostToolUseFailure',
    file: 'ralph-post-tool-use.cjs',
    timeout: QUICK_TIMEOUT,
    statusMessage: 'ralph-loop: noting the call',
    withoutNode: 'silent',
  },
];

/**
 * The hooks of the project's settings.json, for starts by hand. They cost every other session one start of `sh` an
 * event (1 ms). The launcher passes the very same commands: the client then runs them once.
 */
export function sessionRegistration(platform: NodeJS.Platform = process.platform): Registration {
  return registration(SESSION_HOOKS, platform);
}

/**
 * Hooks of a loop that a launcher starts: tool hooks in the settings would cost every other session a process for each
 * call.
 */
export function fullRegistration(platform: NodeJS.Platform = process.platform): Registration {
  return registration([...SESSION_HOOKS, ...TOOL_HOOKS], platform);
}

/**
 * The hooks of an agent that the runner starts, run from the bundle itself, so that a project needs no installation:
 * those of tool calls, and the one that keeps a client which the agent starts out of the loop. The runner decides by
 * itself when a turn is over.
 */
export function agentRegistration(bundleDir: string, platform: NodeJS.Platform = process.platform): Registration {
  const definitions = [...SESSION_HOOKS.filter(({ event }) => event === 'SessionStart'), ...TOOL_HOOKS];
  return registration(definitions, platform, (file) => join(bundleDir, 'hooks', file.replace('ralph-', '')));
}

function registration(
  definitions: readonly HookDefinition[],
  platform: NodeJS.Platform,
  placeOf: ((file: string) => string) | null = null,
): Registration {
  return Object.fromEntries(
    definitions.map((definition) => {
      const group = { hooks: [commandHook(definition, platform, placeOf?.(definition.file) ?? null)] };
      return [definition.event, [TOOL_HOOKS.includes(definition) ? { matcher: '*', ...group } : group]];
    }),
  );
}

/** `place` is the program's absolute path, null where it is the project's own. */
function commandHook(definition: HookDefinition, platform: NodeJS.Platform, place: string | null): CommandHook {
  const { event, timeout, statusMessage } = definition;
  return {
    type: 'command',
    ...(platform === 'win32' ? windowsCommand(definition, place) : { command: unixCommand(definition, place) }),
    timeout,
    statusMessage,
    ...(event === 'PreToolUse' ? { onFailure: 'block' as const } : {}),
  };
}

/**
 * Before anything else a session without a loop is let go. NODE_EXTRA_CA_CERTS costs every node start 80 ms, so the
 * hook runs without it; commands that the hook starts get it back from RALPH_NODE_EXTRA_CA_CERTS.
 */
function unixCommand({ file, timeout, event, withoutNode }: HookDefinition, place: string | null): string {
  const program = place === null ? `"$CLAUDE_PROJECT_DIR/.claude/hooks/${file}"` : shellWord(place);
  const more = event === 'Stop' ? ` --timeout ${timeout}` : '';
  return [
    '[ "$RALPH_ACTIVE" = 1 ] || exit 0',
    `command -v "\${RALPH_NODE:-node}" >/dev/null 2>&1 || { ${answerWithoutNode(withoutNode)}; }`,
    `RALPH_NODE_EXTRA_CA_CERTS="$NODE_EXTRA_CA_CERTS" NODE_EXTRA_CA_CERTS= exec "\${RALPH_NODE:-node}" ${NODE_FLAGS} ${program}${more}`,
  ].join('; ');
}

function answerWithoutNode(withoutNode: HookDefinition['withoutNode']): string {
  switch (withoutNode) {
    case 'tell':
      return `printf '%s' '${JSON.stringify({ systemMessage: HOOK_MESSAGES.noNode })}'; exit 0`;
    case 'silent':
      return 'exit 0';
    case 'refuse':
      return `printf '%s' '${HOOK_MESSAGES.noNodeForGuard}' >&2; exit 1`;
    default:
      return withoutNode satisfies never;
  }
}

/** V8's helper threads only cost a process that lives for a few milliseconds: 1.4 of 21 ms. */
const NODE_FLAGS = '--v8-pool-size=0';

/** No shell to count on: the client starts node itself and fills the project directory in (measured). */
function windowsCommand(
  { file, timeout, event }: HookDefinition,
  place: string | null,
): { command: string; args: string[] } {
  const more = event === 'Stop' ? ['--timeout', String(timeout)] : [];
  return { command: 'node', args: [NODE_FLAGS, place ?? `\${CLAUDE_PROJECT_DIR}/.claude/hooks/${file}`, ...more] };
}

/** Texts in the registered hook commands. No single quotes: they stand inside them in a shell command. */
export const HOOK_MESSAGES = {
  noNode:
    'ralph-loop: the hooks found no node on their PATH, so no loop can run in this session. Put node (20.12 or newer) on the PATH of the shell that starts claude, or export RALPH_NODE=/path/to/node there, and start again.',
  noNodeForGuard:
    'ralph-loop: the guardrails cannot run, because the hooks found no node on their PATH. The user has to put node on the PATH of the shell that starts claude, or export RALPH_NODE=/path/to/node there.',
} as const;
