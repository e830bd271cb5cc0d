import type { ChecklistCount } from '../text/markdown/checklist.ts';
import { CLOSED_BREAKER } from './policy/breaker.ts';
import { NOT_IDLE } from './policy/idle.ts';
import { SCHEMA_VERSION } from './schema/constants.ts';
import type { FourKeyState, LoopState, StateOf } from './schema/state.ts';
import { NO_NOTICES } from './transitions/build.ts';
import { counted } from './transitions/checklist.ts';

export interface NewLoop {
  readonly loopId: string;
  readonly name: string | null;
  readonly mode: LoopState['mode'];
  readonly taskPath: string;
  readonly contractHash: string | null;
  readonly maxIterations: number;
  readonly at: string;
  readonly consented: boolean;
  /** Of a task that is a checklist, as it stands at the start. */
  readonly checklist?: ChecklistCount | null;
  /** Program as the user can call it, for the commands in messages. */
  readonly program?: string;
}

/** The state of a loop that begins now: no iteration finished, no session bound. */
export function initialState(loop: NewLoop): StateOf<'running'> | StateOf<'awaiting-consent'> {
  const { at, loopId, name, mode, taskPath, contractHash, maxIterations } = loop;
  const noTokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  return {
    ...{ iteration: 0, startedAt: at, lastRunAt: at, lastFindingsCount: null, schemaVersion: SCHEMA_VERSION },
    ...{ loopId, name, status: loop.consented ? 'running' : 'awaiting-consent', mode, epoch: 0 },
    ...{ taskPath, contractHash, sessionId: null, clientPid: null, clientStartedAt: null, maxIterations },
    ...{ idleIterations: 0, breaker: CLOSED_BREAKER, idle: NOT_IDLE },
    usage: { ...noTokens, costUsd: null, costBaseUsd: null },
    marks: { transcriptPath: null, transcriptBytes: 0, subagentBytes: {}, lastMessageIds: [], callsBytes: 0 },
    lastDecision: { at, kind: 'started', detail: '' },
    ...{ lastTurn: null, handedOver: null, turn: 'first', promptId: null, stopRequested: false, steering: [] },
    ...{ notices: NO_NOTICES, gateFailures: { value: null, repeats: 0 } },
    ...{ warnedBudgets: [], told: [], waitedOut: [], projectMark: null },
    ...(loop.program !== undefined && { program: loop.program }),
    ...(loop.checklist && { checklist: counted(loop.checklist, undefined) }),
  };
}

/** The loop that a file of four keys stands for: its counters with defaults, and no contract. */
export function adoptFourKeys(file: FourKeyState, loop: Omit<NewLoop, 'at' | 'consented' | 'contractHash'>): LoopState {
  const fresh = initialState({ ...loop, at: file.startedAt, consented: true, contractHash: null });
  const findings = typeof file.lastFindingsCount === 'number' ? file.lastFindingsCount : null;
  return {
    ...fresh,
    iteration: file.iteration,
    lastRunAt: file.lastRunAt,
    lastFindingsCount: findings,
    breaker:
      findings === null ? fresh.breaker : { ...fresh.breaker, findings: { value: String(findings), repeats: 0 } },
    lastDecision: { at: file.lastRunAt, kind: 'started', detail: 'adopted' },
    turn: 'agent',
  };
}
