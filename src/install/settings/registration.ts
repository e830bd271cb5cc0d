import { READERS, SHELL_EXPORTS, STOP_TIMEOUT_SECONDS } from '../../engine/schema/constants.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { hookPath, inProject } from '../../state/process/program.ts';
import { shellWord } from '../../text/quote.ts';

/** Hook as stored in the client's settings. With `args`, the client starts the command itself, without a shell. */
export interface CommandHook {
  readonly type: 'command';
  readonly command: string;
  readonly args?: readonly string[];
  readonly timeout: number;
  readonly statusMessage: string;
  readonly onFailure?: 'block';
}

export interface HookGroup {
  readonly matcher?: string;
  readonly hooks: readonly CommandHook[];
}

type HookEvent =
  | 'SessionStart'
  | 'UserPromptSubmit'
  | 'Stop'
  | 'StopFailure'
  | 'PreToolUse'
  | 'PostToolUse'
  | 'PostToolUseFailure';

export type Registration = Partial<Readonly<Record<HookEvent, readonly HookGroup[]>>>;

/**
 * First line of the client's hooks. It ends them without a loop, and if the launcher has passed its own hooks
 * (Windows). A hook file is recognised as ours by this line, never by its name.
 */
export const HOOK_GUARD =
  "if(process.env.RALPH_ACTIVE!=='1'||process.env.RALPH_HOOKS&&process.argv.includes('--registered'))process.exit(0);";

/** Timeout in seconds of hooks other than Stop, where an idle loop sleeps; ten are for a contended lock. */
const QUICK_TIMEOUT = 30;

/** Texts in the registered hook commands, without single quotes, because a shell command quotes them. */
const HOOK_MESSAGES = {
  noNode:
    'ralph-loop: the hooks found no node on their PATH, so no loop can run in this session. Put node (20.12 or newer) on the PATH of the shell that starts claude, or export RALPH_NODE=/path/to/node there, and start again.',
  noNodeForGuard:
    'ralph-loop: the guardrails cannot run, because the hooks found no node on their PATH. The user has to put node on the PATH of the shell that starts claude, or export RALPH_NODE=/path/to/node there.',
} as const;

/** Reactions to a missing node: inform the user, stay silent, or refuse the tool call. */
const WITHOUT_NODE = {
  tell: `printf '%s' '${JSON.stringify({ systemMessage: HOOK_MESSAGES.noNode })}'; exit 0`,
  silent: 'exit 0',
  refuse: `printf '%s' '${HOOK_MESSAGES.noNodeForGuard}' >&2; exit 2`,
} as const;

type HookDefinition = readonly [HookEvent, file: string, statusMessage: string, withoutNode: keyof typeof WITHOUT_NODE];

const SESSION_HOOKS: readonly HookDefinition[] = [
  ['SessionStart', 'session-start.cjs', 'ralph-loop: looking for a loop', 'tell'],
  ['UserPromptSubmit', 'user-prompt-submit.cjs', 'ralph-loop: noting the message', 'silent'],
  ['Stop', 'ralph-stop-hook.cjs', 'ralph-loop: the loop decides', 'tell'],
  ['StopFailure', 'stop-failure.cjs', 'ralph-loop: noting the failure', 'silent'],
];

const TOOL_HOOKS: readonly HookDefinition[] = [
  ['PreToolUse', 'pre-tool-use.cjs', 'ralph-loop: guardrails', 'refuse'],
  ['PostToolUse', 'post-tool-use.cjs', 'ralph-loop: noting the call', 'silent'],
  ['PostToolUseFailure', 'post-tool-use.cjs', 'ralph-loop: noting the call', 'silent'],
];

/** Files of the client's hooks in a bundle; the last ones are registered by the agents of router mode. */
export const HOOK_FILES = [
  ...new Set([...SESSION_HOOKS, ...TOOL_HOOKS].map(([, file]) => file)),
  'router-tool-use.cjs',
];

/** Value of RALPH_HOOKS in a client that got its hooks from the launcher or the runner: registered ones stay silent. */
export const PASSED_HOOKS = 'passed';

/** Location of hooks: how a command names one, and whether it is registered or passed for one loop. */
interface Place {
  readonly registered: boolean;
  /** Returns the file as written in a shell command. */
  readonly inShell: (file: string) => string;
  /** Returns the file as a word of a command that the client starts without a shell. */
  readonly asWord: (file: string) => string;
}

const PROJECT: Place = {
  registered: true,
  inShell: (file) => `"$CLAUDE_PROJECT_DIR${inProject(file)}"`,
  asWord: (file) => `\${CLAUDE_PROJECT_DIR}${inProject(file)}`,
};

/** Location in a plugin; the client sets the variable for its hooks. */
const PLUGIN: Place = {
  registered: true,
  inShell: (file) => `"$CLAUDE_PLUGIN_ROOT/hooks/${file}"`,
  asWord: (file) => `\${CLAUDE_PLUGIN_ROOT}/hooks/${file}`,
};

/** Returns the hooks for starts by hand: `sh` costs 1 ms per event. Tool hooks would cost other sessions a process per call. */
export function sessionRegistration(platform: NodeJS.Platform = process.platform): Registration {
  return registration(SESSION_HOOKS, platform, PROJECT);
}

/** Returns the hooks of a launched loop, from the bundle that launches it. */
export function fullRegistration(bundle: string, platform: NodeJS.Platform = process.platform): Registration {
  return registration([...SESSION_HOOKS, ...TOOL_HOOKS], platform, placeIn(bundle));
}

/**
 * Returns the hooks of a runner's agent: tool calls, and SessionStart to keep nested clients out. The client's first request
 * waits for SessionStart, so `sh` does its work in a single process. The runner hears of every call from its agent, so a call
 * of READERS starts node only if the loop has private files or was cancelled. `marks` is null if a loop has private files at
 * its start: then no mark, which a program could forge, frees a read.
 */
export function agentRegistration(
  bundle: string,
  marks: ReadMarks | null,
  platform: NodeJS.Platform = process.platform,
): Registration {
  const definitions = [...SESSION_HOOKS.filter(([event]) => event === 'SessionStart'), ...TOOL_HOOKS];
  const { SessionStart = [], ...tools } = registration(definitions, platform, placeIn(bundle));
  if (platform === 'win32') return { SessionStart, ...tools };
  const first = SessionStart.map(({ hooks }) => ({ hooks: hooks.map((hook) => ({ ...hook, command: KEEP_OUT })) }));
  const all: Registration = { SessionStart: first, ...tools };
  if (marks === null) return all;
  const isFree = `[ -e ${shellWord(marks.freeReads)} ] && [ ! -e ${shellWord(marks.cancellation)} ] && exit 0`;
  const split = ({ matcher, hooks }: HookGroup): HookGroup[] => {
    if (matcher === undefined) return [{ hooks }];
    const readers = hooks.map((hook) => ({ ...hook, command: `${isFree}; ${hook.command}` }));
    return [
      { matcher: `^(?!(?:${READERS.join('|')})$)`, hooks },
      { matcher: READERS.join('|'), hooks: readers },
    ];
  };
  return Object.fromEntries(Object.entries(all).map(([event, groups]) => [event, groups.flatMap(split)]));
}

/** Does what the hook's file does in a runner's client: clients started by the agent's shell stay outside the loop. */
const KEEP_OUT = `[ -z "$CLAUDE_ENV_FILE" ] || printf '%s\\n' '${SHELL_EXPORTS}' >> "$CLAUDE_ENV_FILE"`;

/** Files that show a shell that a call of READERS needs no guard. */
export type ReadMarks = Pick<LoopFiles, 'freeReads' | 'cancellation'>;

/**
 * Returns the plugin's hooks. They run `sh` if the plugin was built on Unix, and node if it was built on Windows, where each
 * event of a session without a loop starts node. A missing program must not block every tool call, so the guard refuses by its
 * exit code; `onFailure` is for a guard that hangs until its timeout.
 */
export function pluginRegistration(platform: NodeJS.Platform = process.platform): Registration {
  const all = registration([...SESSION_HOOKS, ...TOOL_HOOKS], platform, PLUGIN);
  const groups = Object.entries(all).map(([event, [group]]) => {
    const hooks = (group?.hooks ?? []).map(({ onFailure, command, ...hook }) => {
      if (platform === 'win32') return { ...hook, command, ...(onFailure && { onFailure }) };
      const script = onFailure === undefined ? command : `${command.replace('= exec ', '= ')} || exit 2`;
      return { ...hook, command: 'sh', args: ['-c', script], ...(onFailure && { onFailure }) };
    });
    return [event, [{ ...group, hooks }]];
  });
  return Object.fromEntries(groups) as Registration;
}

function placeIn(bundle: string): Place {
  const path = (file: string): string => hookPath(bundle, file);
  return { registered: false, inShell: (file) => shellWord(path(file)), asWord: path };
}

function registration(definitions: readonly HookDefinition[], platform: NodeJS.Platform, place: Place): Registration {
  return Object.fromEntries(
    definitions.map((definition) => {
      const group = { hooks: [commandHook(definition, platform, place)] };
      return [definition[0], [TOOL_HOOKS.includes(definition) ? { matcher: '*', ...group } : group]];
    }),
  );
}

function commandHook(definition: HookDefinition, platform: NodeJS.Platform, place: Place): CommandHook {
  const [event, , statusMessage] = definition;
  return {
    type: 'command',
    ...(platform === 'win32' ? windowsCommand(definition, place) : { command: unixCommand(definition, place) }),
    timeout: event === 'Stop' ? STOP_TIMEOUT_SECONDS : QUICK_TIMEOUT,
    statusMessage,
    ...(event === 'PreToolUse' ? { onFailure: 'block' as const } : {}),
  };
}

/** Returns the command: sessions without a loop exit first, and hooks skip NODE_EXTRA_CA_CERTS, which costs 80 ms. */
function unixCommand([event, file, , withoutNode]: HookDefinition, { registered, inShell }: Place): string {
  const more = event === 'Stop' ? ` --timeout ${STOP_TIMEOUT_SECONDS}` : '';
  return [
    `[ "$RALPH_ACTIVE${registered ? '$RALPH_HOOKS' : ''}" = 1 ] || exit 0`,
    `command -v "\${RALPH_NODE:-node}" >/dev/null 2>&1 || { ${WITHOUT_NODE[withoutNode]}; }`,
    `RALPH_NODE_EXTRA_CA_CERTS="$NODE_EXTRA_CA_CERTS" NODE_EXTRA_CA_CERTS= exec "\${RALPH_NODE:-node}" ${NODE_FLAGS} ${inShell(file)}${more}`,
  ].join('; ');
}

/** Disables V8's helper threads, which cost a process of a few milliseconds 1.4 of 21 ms. */
const NODE_FLAGS = '--v8-pool-size=0';

/** Returns the command without a shell: the client itself starts node and fills in the directory (measured). */
function windowsCommand([event, file]: HookDefinition, place: Place): Pick<CommandHook, 'command' | 'args'> {
  const more = event === 'Stop' ? ['--timeout', String(STOP_TIMEOUT_SECONDS)] : [];
  const registered = place.registered ? ['--registered'] : [];
  return { command: 'node', args: [NODE_FLAGS, place.asWord(file), ...more, ...registered] };
}
