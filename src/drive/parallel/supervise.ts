import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Spent } from '../../engine/policy/budget.ts';
import type { RunnerEvent } from '../../engine/runner-event.ts';
import { jsonOrNull } from '../../text/json.ts';
import { type Message, RalphError } from '../../text/message.ts';
import { RUN_MEMBER } from '../records/notification.ts';
import type { AskPermit, Permit } from '../runner/runner.ts';
import type { PlanPart, PlanTerms } from '../turn/turn.ts';

/** Names the process that supervises this one; agents and checks never see it. */
const SUPERVISOR = 'RALPH_SUPERVISOR';

/** Describes the one task of a plan that a supervised run works on, as JSON; agents and checks never see it. */
const PLAN_PART = 'RALPH_PLAN_PART';
const TASK_SETTINGS = 'RALPH_TASK_SETTINGS';

/** Request of a supervised run to its supervisor, over the channel between them. */
type SupervisedRequest =
  | { readonly type: 'permit'; readonly id: number; readonly spent: Spent }
  /** Asks whether the task of a plan may be committed now. */
  | { readonly type: 'turn'; readonly id: number }
  /** Plan and branch are written; no answer is sent. */
  | { readonly type: 'turn-over'; readonly id: number; readonly work: Parameters<PlanPart['endTurn']>[0] }
  /** Reason why the run ends although its loop has not ended; no answer is sent. */
  | { readonly type: 'failed'; readonly id: number; readonly message: Message };

/** `session`: ids of the tasks done in this session. */
export type PlanTurn = { readonly session: readonly string[] } | { readonly refused: string };

interface SupervisorAnswer {
  readonly id: number;
  readonly answer: Permit | PlanTurn;
}

export interface SupervisedRun {
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /** Node's own arguments, the program and the words of the command. */
  readonly words: readonly string[];
  readonly onEvent: (event: RunnerEvent) => void;
  /** Answers before each agent run, at once or later; the runner waits. A rejection ends it as SIGTERM does. */
  readonly onPermit: (spent: Spent) => Promise<Permit>;
  /** Mark of the settings in the task file when the run began; null for a loop whose terms are fixed. */
  readonly settings: string | null;
  /** Task of the plan to work on, and the function that grants its turn. */
  readonly plan?: {
    readonly terms: PlanTerms;
    readonly onTurn: () => Promise<PlanTurn>;
    readonly onTurnOver: PlanPart['endTurn'];
  };
}

export interface Supervised {
  readonly pid: number | undefined;
  readonly signal: (name: 'SIGINT' | 'SIGTERM' | 'SIGKILL') => void;
  readonly done: Promise<SupervisedEnd>;
}

export interface SupervisedEnd {
  /** null if a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Error that ended it; null if it reported none. */
  readonly failure: Message | null;
  /** End of its error output. */
  readonly complaint: string;
}

const MAX_COMPLAINT = 4096;
const NO_PLAN = 'this run works on no task of a plan.';

/** Starts `ralph-loop run … --json` in a process group of its own and reads its events. */
export function supervise({ directory, env, words, onEvent, onPermit, settings, plan }: SupervisedRun): Supervised {
  const child = spawn(process.execPath, words, {
    cwd: directory,
    env: {
      ...env,
      [SUPERVISOR]: String(process.pid),
      [RUN_MEMBER]: '1',
      ...(settings !== null && { [TASK_SETTINGS]: settings }),
      ...(plan && { [PLAN_PART]: JSON.stringify(plan.terms) }),
    },
    // A Ctrl+C in the terminal goes to the supervisor, which passes it on.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    windowsHide: true,
  });
  let complaint = '';
  let failure: Message | null = null;
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-MAX_COMPLAINT);
  });
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const event = eventOf(line);
      if (event !== null) onEvent(event);
    });
  }
  const answerTo = async (request: SupervisedRequest): Promise<SupervisorAnswer['answer'] | null> => {
    switch (request.type) {
      case 'permit':
        // The supervisor keeps its own error; no agent may start without an answer.
        return onPermit(request.spent).catch((): Permit => ({ kind: 'leave' }));
      case 'turn':
        return plan === undefined ? { refused: NO_PLAN } : plan.onTurn();
      case 'turn-over':
        plan?.onTurnOver(request.work);
        return null;
      case 'failed':
        failure = request.message;
        return null;
      default:
        return request satisfies never;
    }
  };
  child.on('message', (request: SupervisedRequest) => {
    void answerTo(request).then((answer) => {
      // The run may have exited while waiting.
      if (answer !== null && child.connected)
        child.send({ id: request.id, answer } satisfies SupervisorAnswer, () => undefined);
    });
  });
  return {
    pid: child.pid,
    signal: (name) => child.kill(name),
    done: new Promise((resolve) => {
      child.on('error', (error) => resolve({ code: 1, signal: null, failure, complaint: error.message }));
      child.on('close', (code, signal) => resolve({ code, signal, failure, complaint: complaint.trim() }));
    }),
  };
}

/** Parses an event; other lines are ignored. */
function eventOf(line: string): RunnerEvent | null {
  const event = jsonOrNull(line);
  const isEvent = typeof event === 'object' && event !== null && 'type' in event;
  return isEvent ? (event as RunnerEvent) : null;
}

export interface Supervisor {
  readonly askPermit: AskPermit;
  readonly part: PlanPart | null;
  /** Mark of the settings with which the task has to begin: an agent may write to the task files of the main project. */
  readonly settings: string | null;
  readonly tellFailure: (error: unknown) => void;
}

/** `Omit` that preserves the members of a union. */
type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

/** Returns the supervisor; null if there is none. If it exits, this process ends as by SIGTERM, and the loop can be resumed. */
export function supervisorOf(env: NodeJS.ProcessEnv): Supervisor | null {
  const { [SUPERVISOR]: named, [PLAN_PART]: described, [TASK_SETTINGS]: settings = null } = env;
  delete env[SUPERVISOR];
  delete env[PLAN_PART];
  delete env[TASK_SETTINGS];
  if (named === undefined || named !== String(process.ppid) || process.send === undefined) return null;
  const waiting = new Map<number, (answer: SupervisorAnswer['answer']) => void>();
  let next = 0;
  process.on('message', ({ id, answer }: SupervisorAnswer) => {
    waiting.get(id)?.(answer);
    waiting.delete(id);
    if (waiting.size === 0) process.channel?.unref();
  });
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel?.unref();
  const ask = (request: WithoutId<SupervisedRequest>): Promise<SupervisorAnswer['answer']> =>
    new Promise((resolve, reject) => {
      if (!process.connected) {
        reject(new RalphError('refused', 'the process that supervises these loops has ended.'));
        return;
      }
      const id = next++;
      waiting.set(id, resolve);
      process.channel?.ref();
      process.send?.({ ...request, id } satisfies SupervisedRequest);
    });
  const takeTurn = async (signal: AbortSignal): Promise<readonly string[]> => {
    const turn = (await orAborted(ask({ type: 'turn' }), signal)) as PlanTurn;
    if ('refused' in turn) throw new RalphError('refused', turn.refused);
    return turn.session;
  };
  const tell = (request: WithoutId<SupervisedRequest>): void => {
    if (process.connected) process.send?.({ ...request, id: next++ } satisfies SupervisedRequest);
  };
  const endTurn: PlanPart['endTurn'] = (work) => tell({ type: 'turn-over', work });
  return {
    askPermit: async (spent) => (await ask({ type: 'permit', spent })) as Permit,
    tellFailure: (error) => {
      if (error instanceof RalphError) tell({ type: 'failed', message: error.advised });
    },
    settings,
    part: described === undefined ? null : { ...(JSON.parse(described) as PlanTerms), takeTurn, endTurn },
  };
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  return Promise.race([work, aborted]);
}
