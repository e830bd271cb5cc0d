import type { ProvedWork } from '../../engine/schema/proof.ts';
import { type Message, RalphError } from '../../text/message.ts';
import type { AskPermit, Permit } from '../runner/runner.ts';
import type { PlanPart, PlanTerms } from '../turn/plan-part.ts';

/** Names the process that supervises this one; agents and checks never see it. */
export const SUPERVISOR = 'RALPH_SUPERVISOR';

/** Describes the one task of a plan that a supervised run works on, as JSON; agents and checks never see it. */
export const PLAN_PART = 'RALPH_PLAN_PART';

/** Request of a supervised run to its supervisor, over the channel between them. */
export type SupervisedRequest =
  | { readonly type: 'permit'; readonly id: number; readonly spent: Parameters<AskPermit>[0] }
  /** Asks whether the task of a plan may be committed now. */
  | { readonly type: 'turn'; readonly id: number }
  /** Plan and branch are written; no answer is sent. */
  | { readonly type: 'turn-over'; readonly id: number; readonly proved: ProvedWork | null }
  /** Reason why the run ends although its loop has not ended; no answer is sent. */
  | { readonly type: 'failed'; readonly id: number; readonly message: Message };

/** `session`: ids of the tasks done in this session. */
export type PlanTurn = { readonly session: readonly string[] } | { readonly refused: string };

export type SupervisorAnswer =
  | { readonly type: 'permit'; readonly id: number; readonly permit: Permit }
  | { readonly type: 'turn'; readonly id: number; readonly turn: PlanTurn };

export interface Supervisor {
  readonly askPermit: AskPermit;
  readonly part: PlanPart | null;
  /** Reports the error that ends this run. */
  readonly tellFailure: (error: unknown) => void;
}

/** `Omit` that preserves the members of a union. */
type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

/** Returns the supervisor; null if there is none. If it exits, this process ends as by SIGTERM, and the loop can be resumed. */
export function supervisorOf(env: NodeJS.ProcessEnv): Supervisor | null {
  const { [SUPERVISOR]: named, [PLAN_PART]: described } = env;
  delete env[SUPERVISOR];
  delete env[PLAN_PART];
  if (named === undefined || named !== String(process.ppid) || process.send === undefined) return null;
  const waiting = new Map<number, (answer: SupervisorAnswer) => void>();
  let next = 0;
  process.on('message', (answer: SupervisorAnswer) => {
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
    if (waiting.size === 0) process.channel?.unref();
  });
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel?.unref();
  const ask = (request: WithoutId<SupervisedRequest>): Promise<SupervisorAnswer> =>
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
    const answer = await orAborted(ask({ type: 'turn' }), signal);
    const turn = answer.type === 'turn' ? answer.turn : { refused: 'the supervisor answered another question.' };
    if ('refused' in turn) throw new RalphError('refused', turn.refused);
    return turn.session;
  };
  const tell = (request: WithoutId<SupervisedRequest>): void => {
    if (process.connected) process.send?.({ ...request, id: next++ } satisfies SupervisedRequest);
  };
  const endTurn: PlanPart['endTurn'] = (proved) => tell({ type: 'turn-over', proved });
  return {
    askPermit: async (spent) => {
      const answer = await ask({ type: 'permit', spent });
      if (answer.type === 'permit') return answer.permit;
      throw new RalphError('refused', 'the supervisor answered another question.');
    },
    tellFailure: (error) => {
      if (error instanceof RalphError) tell({ type: 'failed', message: error.advised });
    },
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
