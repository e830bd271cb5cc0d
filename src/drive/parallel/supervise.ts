import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { RunnerEvent } from '../../engine/runner-event.ts';
import type { ProvedWork } from '../../engine/schema/proof.ts';
import { jsonOrNull } from '../../text/json.ts';
import type { Message } from '../../text/message.ts';
import { RUN_MEMBER } from '../records/notification.ts';
import type { AskPermit, Permit } from '../runner/runner.ts';
import type { PlanTerms } from '../turn/plan-part.ts';
import { PLAN_PART, type PlanTurn, SUPERVISOR, type SupervisedRequest, type SupervisorAnswer } from './supervised.ts';

export interface SupervisedRun {
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /** Node's own arguments, the program and the words of the command. */
  readonly words: readonly string[];
  readonly onEvent: (event: RunnerEvent) => void;
  /** Answers before each agent run, at once or later; the runner waits. A rejection ends the runner as SIGTERM does. */
  readonly onPermit: (spent: Parameters<AskPermit>[0]) => Permit | Promise<Permit>;
  /** Task of the plan to work on, and the function that grants its turn. */
  readonly plan?: {
    readonly terms: PlanTerms;
    readonly onTurn: () => Promise<PlanTurn>;
    readonly onTurnOver: (proved: ProvedWork | null) => void;
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
  /** Error that ended it, if it reported one. */
  readonly failure: Message | null;
  /** End of its error output. */
  readonly complaint: string;
}

const MAX_COMPLAINT = 4096;
const NO_PLAN = 'this run works on no task of a plan.';

/** Starts `ralph-loop run … --json` in a process group of its own and reads its events. */
export function supervise({ directory, env, words, onEvent, onPermit, plan }: SupervisedRun): Supervised {
  const child = spawn(process.execPath, words, {
    cwd: directory,
    env: {
      ...env,
      [SUPERVISOR]: String(process.pid),
      [RUN_MEMBER]: '1',
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
  const answer = async (request: SupervisedRequest): Promise<SupervisorAnswer | null> => {
    const { id } = request;
    switch (request.type) {
      case 'permit':
        return { type: 'permit', id, permit: await answerOf(onPermit, request.spent) };
      case 'turn':
        return { type: 'turn', id, turn: plan === undefined ? { refused: NO_PLAN } : await plan.onTurn() };
      case 'turn-over':
        plan?.onTurnOver(request.proved);
        return null;
      case 'failed':
        failure = request.message;
        return null;
      default:
        return request satisfies never;
    }
  };
  child.on('message', (request: SupervisedRequest) => {
    void answer(request).then((given) => {
      // The run may have exited while waiting.
      if (given !== null && child.connected) child.send(given, () => undefined);
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

async function answerOf(onPermit: SupervisedRun['onPermit'], spent: Parameters<AskPermit>[0]): Promise<Permit> {
  try {
    return await onPermit(spent);
  } catch {
    // The supervisor keeps its own error; no agent may start without an answer.
    return { kind: 'leave' };
  }
}

/** Parses an event; other lines are ignored. */
function eventOf(line: string): RunnerEvent | null {
  const event = jsonOrNull(line);
  const isEvent = typeof event === 'object' && event !== null && 'type' in event;
  return isEvent ? (event as RunnerEvent) : null;
}
