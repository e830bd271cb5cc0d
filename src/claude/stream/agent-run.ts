import type { AgentMessage } from './agent-message.ts';
import type { EndedBy, RunOutcome } from './classify-run.ts';
import type { RunFacts } from './run-facts.ts';

/** One run of an agent, from its start to its exit: a fresh context, that is told what to do and works until it ends. */
export interface AgentRun {
  /** Leader of a process group of its own; null when it could not be started. */
  readonly pid: number | null;
  /** Resolves once no process of the group is left. Never rejects. */
  readonly done: Promise<FinishedRun>;
  /**
   * A message for the agent at work, which reaches it at its next tool boundary, or as a turn of its own after this one:
   * `heard` tells when, by the id, which is a UUID; at once where the agent cannot tell. false when the agent takes no more messages.
   */
  readonly send: (text: string, id: string) => boolean;
  /**
   * Asks the agent to end its turn, and ends it once it has; messages that it has not heard by then it never hears. It
   * may take its time, or not listen: `end` is sure.
   */
  readonly interrupt: () => void;
  /** Ends the agent and all that it started: politely, and after two seconds by force. The first reason counts. */
  readonly end: (why: EndedBy) => void;
}

export interface FinishedRun {
  readonly outcome: RunOutcome;
  readonly facts: RunFacts;
  readonly durationMs: number;
  /** The end of what it wrote to its standard error. */
  readonly complaint: string;
}

/** Starts an agent of one kind. `sessionId` is a fresh one, for an agent that keeps sessions. */
export type StartAgent = (sessionId: string, options: AgentOptions) => AgentRun;

/** What an agent is to do, and how long it may take. Durations in milliseconds. */
export interface AgentOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly prompt: string;
  /** Ends a run that tells nothing for so long. */
  readonly silenceMs: number;
  /** Ends a run that takes longer; null is no limit. */
  readonly timeMs: number | null;
  /** Ends a run whose turn is over and which does not leave, because something in the background still runs. */
  readonly lingerMs: number;
  /** Ends a run in which a tool runs without our hooks having been asked. */
  readonly guarded: boolean;
  /** Called with the leader of its process group before it is told anything. */
  readonly onStart?: (pid: number) => void;
  /** Whether somebody wants the agent's words as they come. An agent that cannot tell them so tells them whole. */
  readonly streamed: boolean;
  readonly onMessage: (message: AgentMessage) => void;
}
