import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Allowance } from '../../engine/policy/budget.ts';
import { endGroup, forgetGroup, spawnGroup } from '../../state/process/group.ts';
import { SLEPT_MS } from '../../state/process/sleep-watch.ts';
import { redact } from '../../text/redact/redact.ts';
import type { AgentMessage, RunFacts } from './agent-message.ts';
import type { EndedBy, RunExit, RunOutcome } from './classify-run.ts';

export interface AgentRun {
  /** Leader of its process group; null if it could not be started. */
  readonly pid: number | null;
  /** Resolves once no process of the group is left. Never rejects. */
  readonly done: Promise<FinishedRun>;
  /** Sends a message, confirmed by `acknowledged` with its id. Returns false if the agent accepts no more messages. */
  readonly send: (text: string, id: string) => boolean;
  /** Lets the agent make calls that match these rules from now on: all that the user has allowed since the loop began. */
  readonly allow: (rules: readonly string[]) => void;
  /**
   * Asks the agent to end its turn and report its figures; ends its processes if `force`, or after five seconds (fewer for
   * a budget).
   */
  readonly end: (why: EndedBy, force?: boolean) => void;
}

export interface FinishedRun extends Omit<ProcessEnd, 'exit'> {
  readonly outcome: RunOutcome;
  readonly facts: RunFacts;
}

/** Starts an agent of one kind. `sessionId` is new, for an agent that keeps sessions. */
export type StartAgent = (sessionId: string, options: AgentOptions) => AgentRun;

/** Task and time limits of an agent. Durations in milliseconds. */
export interface AgentOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly prompt: string;
  readonly silenceMs: number;
  /** Time limit of a run; null: no limit. */
  readonly timeMs: number | null;
  /** What the loop may still use. A run that exceeds it is ended after its current model call; `timeMs` ends any run. */
  readonly allowance: Allowance;
  /** Time limit after the end of the turn for an agent that does not exit because background work is still running. */
  readonly lingerMs: number;
  /**
   * Called if background work runs on after a turn that ended with this message: commands of shells, null for other work.
   * Returns a function that returns the milliseconds of a wait, and of a further one once it has passed; null ends the run.
   */
  readonly onLinger?: (message: string, commands: readonly (string | null)[]) => () => number | null;
  /** Rules of calls that the user has allowed in this loop. */
  readonly allowed?: readonly string[];
  /** True to end a run in which a tool runs although our hooks were not called. */
  readonly guarded: boolean;
  /** Returns whether our hook was asked about a call of this run, for a client that reports no hooks. */
  readonly wasGuarded?: () => boolean;
  /** Called with the leader of its process group before the prompt is sent. */
  readonly onStart?: (pid: number) => void;
  readonly onMessage: (message: AgentMessage) => void;
  /** Called with the total usage of the run whenever that grows or its cost becomes known. */
  readonly onUsage?: (used: Pick<RunFacts, 'usage' | 'costUsd' | 'windows'>) => void;
}

export interface ProgramOptions extends AgentOptions, Pick<ProcessOptions, 'program' | 'args'> {
  /** Permission rules in the settings with which the client starts. */
  readonly permissions?: { readonly allow?: readonly string[] } | undefined;
}

/** Process of an agent, leader of its own group, which ends when our process ends. */
export interface AgentProcess {
  readonly pid: number | null;
  readonly done: Promise<ProcessEnd>;
  readonly write: (text: string) => boolean;
  readonly closeInput: () => void;
  /** Ends the group: by SIGTERM and, after two seconds, by SIGKILL. The first reason counts. */
  readonly end: (why: EndedBy) => void;
}

interface ProcessEnd {
  readonly exit: RunExit;
  readonly durationMs: number;
  readonly complaint: string;
}

interface ProcessOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly onStart: ((pid: number) => void) | undefined;
  readonly onOutput: (chunk: Buffer) => void;
  /** True if output on standard error also counts as activity. */
  readonly errorsShowLife: boolean;
  /** Called five times a second with the milliseconds of silence and of the run; returns why to end it, or null. */
  readonly overdue: (silentMs: number, runningMs: number) => EndedBy | null;
}

const COMPLAINT = 2_000;
const DRAIN_MS = 500;
const LOOK_MS = 200;
/** Delay between two looks beyond which output may have been written but not read yet. */
const LATE_MS = 2_000;

/** Times of an agent, without those in which this process was stopped or the machine slept. */
class WorkClock {
  private began = Date.now();
  private last = this.began;
  private looked = this.began;

  /** The agent has shown that it is alive. */
  heard(): void {
    this.last = Date.now();
  }

  /** Returns for how long it has been silent and for how long it has worked. Called regularly, to notice gaps. */
  look(): { readonly silentMs: number; readonly workedMs: number } {
    const now = Date.now();
    const gap = now - this.looked;
    // This process was stopped or the machine slept: output from that time has not been read yet.
    if (gap > LATE_MS) this.last += gap;
    // A limit counts only the time in which the agent could work.
    if (gap > SLEPT_MS) this.began += gap;
    // A clock that was set back does not extend the limits.
    if (gap < 0) {
      this.began += gap;
      this.last = now;
    }
    this.looked = now;
    return { silentMs: now - this.last, workedMs: now - this.began };
  }

  get workedMs(): number {
    return Math.max(0, Date.now() - this.began);
  }
}

/** Starts the program in its own process group. If that fails, the process is done at once, with the reason. */
export function startAgentProcess(options: ProcessOptions): AgentProcess {
  const { program, args, cwd, env } = options;
  const clock = new WorkClock();
  let child: ChildProcess;
  try {
    child = spawnGroup(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
  } catch (error) {
    return notStarted((error as Error).message);
  }
  const { pid } = child;
  let endedBy: EndedBy | null = null;
  let complaint = '';
  const end = (why: EndedBy): void => {
    if (endedBy !== null || pid === undefined) return;
    endedBy = why;
    void endGroup(pid);
  };
  child.stdout?.on('data', (chunk: Buffer) => {
    clock.heard();
    options.onOutput(chunk);
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (options.errorsShowLife) clock.heard();
    complaint = (complaint + text).slice(-COMPLAINT);
  });
  // Writing to an exited process fails; its exit is reported anyway.
  child.stdin?.on('error', () => undefined);
  const patience = setInterval(() => {
    const { silentMs, workedMs } = clock.look();
    const why = options.overdue(silentMs, workedMs);
    if (why !== null) end(why);
  }, LOOK_MS);
  if (pid !== undefined) noteStart(pid, options.onStart, patience);
  const finish = async (exit: Omit<RunExit, 'endedBy'>): Promise<ProcessEnd> => {
    clearInterval(patience);
    if (pid !== undefined) {
      await endGroup(pid);
      forgetGroup(pid);
    }
    return { exit: { ...exit, endedBy }, durationMs: clock.workedMs, complaint: redact(complaint).trim() };
  };
  return {
    pid: pid ?? null,
    done: ended(child).then(finish),
    write: (text) => {
      if (child.stdin?.writable !== true) return false;
      child.stdin.write(text);
      return true;
    },
    closeInput: () => void child.stdin?.end(),
    end,
  };
}

/** Reports a started process. If that fails, as on a full disk, ends the process and its timer: nothing else would. */
function noteStart(pid: number, onStart: ProcessOptions['onStart'], patience: NodeJS.Timeout): void {
  try {
    onStart?.(pid);
  } catch (error) {
    clearInterval(patience);
    void endGroup(pid).then(() => forgetGroup(pid));
    throw error;
  }
}

/** Resolves when the process has exited and its output is read; other processes may still hold its pipe. */
function ended(child: ChildProcess): Promise<Omit<RunExit, 'endedBy'>> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: null, startError: error.message }));
    child.once('exit', (code, signal) => {
      const exit = { code, signal, startError: null };
      const drained = setTimeout(() => resolve(exit), DRAIN_MS);
      child.once('close', () => {
        clearTimeout(drained);
        resolve(exit);
      });
      // A process that has left the group may hold its pipes forever, and must not keep this one alive.
      for (const pipe of [child.stdout, child.stderr]) (pipe as Socket | null)?.unref();
    });
  });
}

function notStarted(why: string): AgentProcess {
  const exit: RunExit = { code: null, signal: null, endedBy: null, startError: why };
  return {
    pid: null,
    done: Promise.resolve({ exit, durationMs: 0, complaint: '' }),
    write: () => false,
    closeInput: () => undefined,
    end: () => undefined,
  };
}
