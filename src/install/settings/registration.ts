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

/** Seconds for hooks other than Stop, in which an idle loop sleeps: ten of them may go to a contended lock. */
const QUICK_TIMEOUT = 30;

/** Texts in the registered hook commands. No single quotes: they stand inside them in a shell command. */
const HOOK_MESSAGES = {
  noNode:
    'ralph-loop: the hooks found no node on their PATH, so no loop can run in this session. Put node (20.12 or newer) on the PATH of the shell that starts claude, or export RALPH_NODE=/path/to/node there, and start again.',
  noNodeForGuard:
    'ralph-loop: the guardrails cannot run, because the hooks found no node on their PATH. The user has to put node on the PATH of the shell that starts claude, or export RALPH_NODE=/path/to/node there.',
} as const;

/** Reactions to an event if node is missing: tell the user, say nothing, or refuse the tool call. */
const WITHOUT_NODE = {
  tell: `printf '%s' '${JSON.stringify({ systemMessage: HOOK_MESSAGES.noNode })}'; exit 0`,
  silent: 'exit 0',
  refuse: `printf '%s' '${HOOK_MESSAGES.noNodeForGuard}' >&2; exit 1`,
} as const;

type HookDefinition = readonly [HookEvent, file: string, statusMessage: string, withoutNode: keyof typeof WITHOUT_NODE];

const SESSION_HOOKS: readonly HookDefinition[] = [
  ['SessionStart', 'ralph-session-start.cjs', 'ralph-loop: looking for a loop', 'tell'],
  ['UserPromptSubmit', 'ralph-user-prompt-submit.cjs', 'ralph-loop: noting the message', 'silent'],
  ['Stop', 'ralph-stop-hook.cjs', 'ralph-loop: the loop decides', 'tell'],
  ['StopFailure', 'ralph-stop-failure.cjs', 'ralph-loop: noting the failure', 'silent'],
];

const TOOL_HOOKS: readonly HookDefinition[] = [
  ['PreToolUse', 'ralph-pre-tool-use.cjs', 'ralph-loop: guardrails', 'refuse'],
  ['PostToolUse', 'ralph-post-tool-use.cjs', 'ralph-loop: noting the call', 'silent'],
  ['PostToolUseFailure', 'ralph-post-tool-use.cjs', 'ralph-loop: noting the call', 'silent'],
];

/**
 * Hooks of the project's settings.json, for starts by hand: they cost every other session one start of `sh` an event (1
 * ms). The launcher passes the very same commands: the client then runs them once.
 */
export function sessionRegistration(platform: NodeJS.Platform = process.platform): Registration {
  return registration(SESSION_HOOKS, platform);
}

/** Hooks of a launched loop. Tool hooks in the settings would cost every other session a process for each call. */
export function fullRegistration(platform: NodeJS.Platform = process.platform): Registration {
  return registration([...SESSION_HOOKS, ...TOOL_HOOKS], platform);
}

/** Hooks of a runner's agent, run from the bundle: tool calls, and SessionStart to keep nested clients out. */
export function agentRegistration(bundleDir: string, platform: NodeJS.Platform = process.platform): Registration {
  const definitions = [...SESSION_HOOKS.filter(([event]) => event === 'SessionStart'), ...TOOL_HOOKS];
  return registration(definitions, platform, (file) => join(bundleDir, 'hooks', file.replace('ralph-', '')));
}

function registration(
  definitions: readonly HookDefinition[],
  platform: NodeJS.Platform,
  placeOf: ((file: string) => string) | null = null,
): Registration {
  return Object.fromEntries(
    definitions.map((definition) => {
      const group = { hooks: [commandHook(definition, platform, placeOf?.(definition[1]) ?? null)] };
      return [definition[0], [TOOL_HOOKS.includes(definition) ? { matcher: '*', ...group } : group]];
    }),
  );
}

/** `place` is the program's absolute path, null where it is the project's own. */
function commandHook(definition: HookDefinition, platform: NodeJS.Platform, place: string | null): CommandHook {
  const [event, , statusMessage] = definition;
  return {
    type: 'command',
    ...(platform === 'win32' ? windowsCommand(definition, place) : { command: unixCommand(definition, place) }),
    timeout: event === 'Stop' ? STOP_TIMEOUT_SECONDS : QUICK_TIMEOUT,
    statusMessage,
    ...(event === 'PreToolUse' ? { onFailure: 'block' as const } : {}),
  };
}

/**
 * Before anything else a session without a loop is let go. NODE_EXTRA_CA_CERTS costs every node start 80 ms, so the
 * hook runs without it; commands that the hook starts get it back from RALPH_NODE_EXTRA_CA_CERTS.
 */
function unixCommand([event, file, , withoutNode]: HookDefinition, place: string | null): string {
  const program = place === null ? `"$CLAUDE_PROJECT_DIR/.claude/hooks/${file}"` : shellWord(place);
  const more = event === 'Stop' ? ` --timeout ${STOP_TIMEOUT_SECONDS}` : '';
  return [
    '[ "$RALPH_ACTIVE" = 1 ] || exit 0',
    `command -v "\${RALPH_NODE:-node}" >/dev/null 2>&1 || { ${WITHOUT_NODE[withoutNode]}; }`,
    `RALPH_NODE_EXTRA_CA_CERTS="$NODE_EXTRA_CA_CERTS" NODE_EXTRA_CA_CERTS= exec "\${RALPH_NODE:-node}" ${NODE_FLAGS} ${program}${more}`,
  ].join('; ');
}

/** V8's helper threads only cost a process that lives for a few milliseconds: 1.4 of 21 ms. */
const NODE_FLAGS = '--v8-pool-size=0';

/** There may be no shell: the client starts node itself and fills the project directory in (measured). */
function windowsCommand([event, file]: HookDefinition, place: string | null): Pick<CommandHook, 'command' | 'args'> {
  const more = event === 'Stop' ? ['--timeout', String(STOP_TIMEOUT_SECONDS)] : [];
  return { command: 'node', args: [NODE_FLAGS, place ?? `\${CLAUDE_PROJECT_DIR}/.claude/hooks/${file}`, ...more] };
}
