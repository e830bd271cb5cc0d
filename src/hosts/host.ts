import { spawnSync } from 'node:child_process';
import { isAbsolute } from 'node:path';
import type { ApiError } from '../engine/events.ts';
import { STOP_TIMEOUT_SECONDS } from '../engine/schema/constants.ts';
import { isExecutable, onPath } from '../state/process/find-program.ts';
import { advise, RalphError } from '../text/message.ts';
import { shellWord } from '../text/quote.ts';
import { atLeast } from '../text/version.ts';
import type { AgentRun, ProgramOptions } from './agent/agent-run.ts';

export interface FoundClient {
  readonly path: string;
  readonly version: string | null;
}

/** Terms with which a client is started for a loop's agent. */
export interface AgentTerms {
  readonly projectDir: string;
  readonly permissionMode: string | null;
  readonly model: string | null;
  readonly effort: string | null;
  readonly isolation: string;
  /** Our settings, in the form of Claude Code: environment, hooks, permission rules. */
  readonly settings: {
    readonly env: Readonly<Record<string, string>>;
    readonly permissions?: { readonly allow?: readonly string[] };
  };
  readonly checks: readonly string[];
  /** Commands that the agent may run with any arguments. */
  readonly mayRun: readonly string[];
  /** Options of `hookArgs`. */
  readonly hooks: readonly string[];
  /** The user's own options. */
  readonly own: readonly string[];
}

/** Terms with which a client is started for a session that its Stop hook continues. */
export interface SessionTerms
  extends Pick<AgentTerms, 'permissionMode' | 'model' | 'effort' | 'checks' | 'mayRun' | 'hooks' | 'own'> {
  readonly prompt: string;
  readonly headless: boolean;
  /** Session to be resumed; null for a new one. */
  readonly session: string | null;
  /** Our settings in the form of Claude Code, as JSON. */
  readonly settings: string;
}

/** API error at the end of a session's transcript. */
export interface SessionError extends ApiError {
  readonly at: string | null;
}

/** Location of the hooks of a loop's agent, and what runs them. */
export interface HookPlace {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Node that runs the hooks. */
  readonly node: string;
  readonly hookPath: (file: string) => string;
}

/** Hooks of one event, as a client's file lists them. */
export interface HookGroup {
  readonly matcher?: string;
  readonly hooks: readonly {
    /** Absent if the client has no names for hooks. */
    readonly name?: string;
    readonly type: 'command';
    readonly command: string;
    readonly timeout: number;
  }[];
}

/** Hooks of a session in another client than Claude Code, by the corresponding events of Claude Code. */
export const SESSION_HOOKS = {
  SessionStart: 'session-start.cjs',
  UserPromptSubmit: 'user-prompt-submit.cjs',
  PreToolUse: 'pre-tool-use.cjs',
  PostToolUse: 'post-tool-use.cjs',
  Stop: 'ralph-stop-hook.cjs',
} as const;
export type SessionHook = keyof typeof SESSION_HOOKS;

/**
 * Timeout in seconds of every hook but Stop. When it is exceeded, a client runs the tool without an answer (measured), so it
 * is far longer than the guard takes on a busy machine.
 */
const HOOK_SECONDS = 600;

/** Returns the command with which a client calls a hook, and its timeout in seconds. */
export function hookCommand(event: string, program: string, host: string) {
  const seconds = event === 'Stop' ? STOP_TIMEOUT_SECONDS : HOOK_SECONDS;
  const call = `${program} --host ${host}${event === 'Stop' ? ` --timeout ${seconds}` : ''}`;
  // Without a shell in between, a waiting hook notices the end of its client.
  return { command: event === 'PreToolUse' ? refusing(call) : `exec ${call}`, seconds };
}

/** Returns a hook's command that denies the call if the guard ends without an answer: codes but 0 and 2 allow it. */
function refusing(call: string): string {
  const lost = 'ralph-loop: the guard ended without an answer, so this call is denied.';
  return `${call} || { [ $? = 2 ] && exit 2; echo ${shellWord(lost)} >&2; exit 2; }`;
}

/** Why a client would not run our hooks. */
export interface HookProblem {
  /** Part of a sentence, without a full stop. */
  readonly text: string;
  /** What the user has to do, as a sentence that begins in lower case; null if the text says it. */
  readonly repair: string | null;
}

/** Hooks of sessions that a client keeps in a file of the user, and runs only if the user trusts them. */
export interface UserHooks {
  readonly file: (env: NodeJS.ProcessEnv) => string;
  /** Name of that file, for people. */
  readonly fileName: string;
  readonly comments: boolean;
  /** Returns whether our plugin for this client registers the same hooks. */
  readonly hasPlugin: (env: NodeJS.ProcessEnv) => boolean;
  /** Returns the hooks by event. They are the same in every version, because a changed one loses its trust. */
  readonly groups: (place: Pick<HookPlace, 'node' | 'hookPath'>) => Readonly<Record<string, readonly HookGroup[]>>;
  /** Returns whether any version of this program wrote a hook. */
  readonly isOurs: (entry: unknown) => boolean;
  /** True if a launched client gets them from its options, so that only sessions begun by hand need the file. */
  readonly passedAtLaunch: boolean;
  /** Finds out why the client would not run them; null if it would. Throws RalphError if the client cannot be asked. */
  readonly problem: (program: () => string, place: HookPlace) => Promise<HookProblem | null>;
}

/** What a loop requires of its host. */
export interface Wanted {
  /** True for a new client in each iteration. */
  readonly iterations: boolean;
  readonly maxCostUsd: number | null;
  /** True if the loop pauses at a share of the account's usage limits. */
  readonly stopsAtWindow: boolean;
  readonly sandbox: 'off' | 'auto' | 'on';
  readonly permissionMode: string | null;
  /** True if the agent proves scenarios by commands and no user is there to allow them. */
  readonly tdd: boolean;
}

interface Cannot {
  /** Key path as in a task file. */
  readonly setting: string;
  readonly isWanted: (wanted: Wanted) => boolean;
  /** Why not, and what to use instead: sentences after the name of the setting. */
  readonly because: string;
}

/** Returns what only the reference host can honour; `sandbox` says how the client's own sandbox is chosen. */
export const onlyInClaudeCode = (sandbox: string): readonly Cannot[] => [
  {
    setting: 'budget.max_cost',
    isWanted: ({ maxCostUsd }) => maxCostUsd !== null,
    because: 'reports no cost. Limit budget.max_tokens, budget.max_time or max_iterations instead.',
  },
  {
    setting: 'budget.stop_at',
    isWanted: ({ stopsAtWindow }) => stopsAtWindow,
    because: 'reports no usage windows to a loop. Limit budget.max_tokens instead.',
  },
  {
    setting: 'sandbox.mode',
    isWanted: (wanted) => wanted.sandbox === 'on',
    because: `has a sandbox of its own, which ${sandbox}`,
  },
];

/** Rows of docs/hosts.md. */
export const TOPICS = [
  'loop with a new client for each iteration',
  'loop inside one session',
  'guard',
  'input to running commands',
  'steering',
  'interruption',
  'permission mode',
  'dialogs left open',
  'tokens',
  'cost',
  'rate limits and API errors',
  'subagents',
  'background work',
] as const;
type Topic = (typeof TOPICS)[number];

export interface PreparedAgent extends Pick<ProgramOptions, 'args' | 'permissions'> {
  /** Variables added to the environment of the client. */
  readonly env: Readonly<Record<string, string>>;
}

/** How a client works on one iteration after another, each in a fresh context. */
interface IterationHost {
  /** Returns what the client is started with, whatever the iteration. */
  readonly prepare: (terms: AgentTerms) => PreparedAgent;
  /** Starts the client for one iteration and reads its stream. `sessionId` is new, for a client that takes one. */
  readonly start: (sessionId: string, options: ProgramOptions) => AgentRun;
}

/** What drivers and commands need to know about a client. */
export interface Host {
  /** Name in contracts, in `--agent NAME`, `init --NAME` and `--host NAME` of a hook. */
  readonly name: string;
  /** Name for people. */
  readonly title: string;
  readonly oldest: string;
  /** Returns the client. Throws RalphError `client-missing`, `client-too-old`. */
  readonly requireClient: (env: NodeJS.ProcessEnv) => FoundClient;
  /** Throws RalphError `usage` for options of the client that a loop's client must not get. */
  readonly requireArgs: (words: readonly string[], command: 'run' | 'start') => void;
  /**
   * Returns the options with which the client runs our hooks for an iteration or a session, if it does not take them from its
   * settings. Throws RalphError `refused` if the client would not run them, and the errors of `program`.
   */
  readonly hookArgs: (
    program: () => string,
    place: HookPlace,
    kind: 'iteration' | 'session',
  ) => Promise<readonly string[]>;
  /** Null for a client that works only in sessions. */
  readonly iterations: IterationHost | null;
  /** Returns the words with which the client begins a session. */
  readonly sessionArgs: (terms: SessionTerms) => readonly string[];
  readonly sessionEnv: (projectDir: string) => Readonly<Record<string, string>>;
  /** Returns the API error with which a session has ended; null if it ended otherwise. */
  readonly sessionError: (transcriptPath: string | null) => SessionError | null;
  /** True if a hook before a tool call can end the turn. */
  readonly endsTurns: boolean;
  /** Returns whether a client of this version prints the messages of our hooks without a terminal. */
  readonly printsMessages: (version: string | null) => boolean;
  /** Shell text that begins a session by hand, after the variables that name the loop. */
  readonly byHand: readonly [variables: string, program: string];
  /** What the user has to know at the start about a client of this version; absent: nothing. */
  readonly versionText?: (version: string | null) => string | null;
  /** Says what the agent may do in this permission mode, if the loop starts the client; absent: nothing. */
  readonly modeText?: (permissionMode: string | null) => string;
  /** True if the client reads Claude Code's settings files, and so runs other hooks that are registered there. */
  readonly readsClaudeSettings: boolean;
  /** True if the client itself confines its commands, by the permission mode. */
  readonly confines: boolean;
  /** Absent if the hooks of sessions are in the project's settings. */
  readonly userHooks?: UserHooks;
  readonly cannot: readonly Cannot[];
  readonly topics: Readonly<Record<Topic, string>>;
}

/** How a client is found. */
export interface Named {
  readonly title: string;
  readonly program: string;
  /** Variable that names another program. */
  readonly variable: string;
  readonly oldest: string;
  readonly install: string;
  /** Sentence about its newest version; by default, the same command installs it. */
  readonly update?: string;
  /** Returns where the PATH may contain the named program. By default, under that name. */
  readonly places?: (named: string) => readonly string[];
  /** Returns the program to run for the one that was found. */
  readonly resolve?: (path: string) => string;
}

/** Returns a client and its version. Throws RalphError `client-missing`, `client-too-old`; accepts unknown versions. */
export function namedClient(env: NodeJS.ProcessEnv, of: Named): FoundClient {
  const client = findNamed(env, of);
  const { path, version } = client;
  if (version === null || atLeast(version, of.oldest)) return client;
  throw new RalphError(
    'client-too-old',
    `${tooOldText(of, path, version)} ${of.update ?? `Update it: ${of.install}.`}`,
  );
}

export function tooOldText({ title, oldest }: Named, path: string, version: string): string {
  return `${title} ${version} (${path}) is not supported: ralph-loop needs ${oldest} or newer.`;
}

/** Returns a client of any version. Throws RalphError `client-missing`. */
export function findNamed(env: NodeJS.ProcessEnv, of: Named): FoundClient {
  const { title, program, variable, install, places = (name) => [name], resolve = (path) => path } = of;
  const named = env[variable] || program;
  const found = places(named).map((place) => onPath(place, env));
  const path = isAbsolute(named) && isExecutable(named) ? named : found.find((place) => place !== null);
  if (path !== undefined && path !== null) return { path: resolve(path), version: versionOf(resolve(path)) };
  throw new RalphError(
    'client-missing',
    `${program} was not found on PATH. Install ${title} (${install}), or set ${variable} to its path.`,
  );
}

/** Returns the refusal of a word after `--` that a client would take for its prompt. */
export function promptRefused(word: string, title: string): RalphError {
  const text = `-- ${word}: the loop makes the prompt of ${title}, so only options may follow --.`;
  return new RalphError('usage', advise(text, 'Send the agent a message while it works', 'steer "TEXT"'));
}

/** Codes of a program that does not answer in time or cannot be started: the loop's start reports it then. */
const NO_ANSWER = new Set(['ETIMEDOUT', 'ENOENT', 'EACCES', 'ENOEXEC', 'ETXTBSY', 'EFTYPE', 'UNKNOWN']);

/** Returns the version that a client prints; null if it fails, gives no answer in 10 s or prints none. */
function versionOf(path: string): string | null {
  const { error, status, stdout } = spawnSync(path, ['--version'], {
    encoding: 'utf8',
    timeout: 10_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (error !== undefined && !NO_ANSWER.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  return status === 0 ? (/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null) : null;
}
