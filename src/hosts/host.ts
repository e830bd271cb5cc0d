import type { AgentRun, ProgramOptions } from './claude/agent/agent-run.ts';
import type { FoundClient } from './claude/find-client.ts';

/** Clients whose hooks this program answers. */
export const HOST_NAMES = ['claude-code', 'codex'] as const;
export type HostName = (typeof HOST_NAMES)[number];

/** What a loop asks of its host. */
export interface Wanted {
  readonly maxCostUsd: number | null;
  /** The loop pauses at a share of the account's usage limits. */
  readonly stopsAtWindow: boolean;
  readonly sandbox: 'off' | 'auto' | 'on';
}

/** A setting that a host cannot honour. */
export interface Cannot {
  /** Key path as in a task file. */
  readonly setting: string;
  readonly isWanted: (wanted: Wanted) => boolean;
  /** Why not, and what to use instead: sentences after the name of the setting. */
  readonly because: string;
}

/** Rows of docs/hosts.md. */
export const TOPICS = [
  'loop with a new client for each iteration',
  'loop inside one session',
  'guard',
  'input to running commands',
  'steering',
  'interruption',
  'permission mode',
  'tokens',
  'cost',
  'rate limits and API errors',
  'subagents',
  'background work',
] as const;
export type Topic = (typeof TOPICS)[number];

/** What drivers and commands need to know about a client. */
export interface Host {
  readonly name: HostName;
  /** Name for people. */
  readonly title: string;
  /** Oldest supported version. */
  readonly oldest: string;
  /** Returns the client. Throws RalphError `client-missing`, `client-too-old`. */
  readonly requireClient: (env: NodeJS.ProcessEnv) => FoundClient;
  /** Throws RalphError `usage` for options of the client that a loop's client must not get. */
  readonly requireArgs: (words: readonly string[], command: 'run' | 'start') => void;
  /** Starts the client for one iteration and reads its stream. */
  readonly start: (options: ProgramOptions) => AgentRun;
  /** What the user has to know at the start about this permission mode; null if nothing. */
  readonly startText: (permissionMode: string | null) => string | null;
  readonly cannot: readonly Cannot[];
  readonly topics: Readonly<Record<Topic, string>>;
}
