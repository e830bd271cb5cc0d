import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { checklistNow } from '../../drive/prompt/read-task.ts';
import { driverLives } from '../../drive/turn/driver-context.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { readState } from '../../state/read-state.ts';
import { peekTdd } from '../../state/tdd-store.ts';
import { policyFromEnvironment } from '../../task/settings/from-environment.ts';
import { DEFAULT_TASK } from '../../task/task-file.ts';
import { forLoop } from '../../term/for-loop.ts';
import type { ChecklistCount } from '../../text/markdown/checklist.ts';
import type { CommandContext } from '../command.ts';
import { endedLoopOf, lastEnded, listed } from './last-ended.ts';

export type Status = InactiveStatus | ActiveStatus;

/** What the status of a default loop that is not there says. */
export const NO_LOOP = 'No active loop.';

export interface InactiveStatus {
  readonly active: false;
  readonly message: string;
  readonly name: string | null;
  readonly lastLoop: ReturnType<typeof lastEnded>;
}

export interface ActiveStatus {
  readonly active: true;
  readonly iteration: number;
  readonly startedAt: string;
  readonly lastRunAt: string;
  readonly lastFindingsCount: number | 'unknown';
  readonly promptExists: boolean;
  readonly guardrailsExists: boolean;
  readonly name: string | null;
  readonly loopId: string | null;
  readonly status: LoopState['status'];
  readonly mode: LoopState['mode'];
  readonly taskPath: string;
  readonly maxIterations: number;
  readonly idleIterations: number;
  readonly waitingUntil: string | null;
  /** `idle`: the agent has nothing to do; `pace`: the delay between two iterations. null while it does not wait. */
  readonly waitingFor: 'idle' | 'pace' | null;
  readonly paused: { readonly reason: string; readonly message: string; readonly resumesAt: string | null } | null;
  readonly stopRequested: boolean;
  readonly sessionId: string | null;
  readonly clientPid: number | null;
  /** Whether somebody works on it: its client, or its runner, whose agents come and go. null while no client is bound. */
  readonly clientAlive: boolean | null;
  readonly usage: Omit<LoopState['usage'], 'costBaseUsd'> | null;
  /** How far its checklist has come; left out for every other task. */
  readonly checklist?: ChecklistCount;
  /** How far its scenarios are; left out for every loop that does not work by tests first. */
  readonly scenarios?: ChecklistCount & { readonly current: string | null };
}

/** How a loop stands, from its files alone; changes nothing. */
export function statusOf({ files, env, projectDir }: Pick<CommandContext, 'files' | 'env' | 'projectDir'>): Status {
  const found = readState(files.state);
  const inactive = (message: string, lastLoop = lastEnded(files)): InactiveStatus => {
    return { active: false, message, name: files.name, lastLoop };
  };
  const exists = (path: string): boolean => existsSync(join(projectDir, path));
  const guardrailsExists = exists('.claude/ralph/guardrails.md');
  switch (found.kind) {
    case 'absent':
      return inactive(files.name === null ? NO_LOOP : `No active loop named ${files.name}.`);
    case 'corrupt':
      return inactive(`The state file ${files.state} cannot be used (${found.problem}). main.cjs reset puts it away.`);
    case 'newer':
      return inactive(`The state file ${files.state} was written by a newer ralph-loop. Update this one.`);
    case 'four-keys': {
      const { iteration, startedAt, lastRunAt, lastFindingsCount } = found.file;
      return {
        ...{ active: true, iteration, startedAt, lastRunAt },
        lastFindingsCount: lastFindingsCount ?? 'unknown',
        promptExists: exists(DEFAULT_TASK),
        guardrailsExists,
        ...{ name: files.name, loopId: null, status: 'running', mode: 'hook', taskPath: DEFAULT_TASK },
        maxIterations: policyFromEnvironment(env).policy.maxIterations,
        ...{ idleIterations: 0, waitingUntil: null, waitingFor: null, paused: null, stopRequested: false },
        ...{ sessionId: null, clientPid: null, clientAlive: null, usage: null },
      };
    }
    case 'loop': {
      const { state } = found;
      const checklist = checklistNow(projectDir, state.taskPath);
      if (state.status === 'ended')
        return inactive(`The last loop ${state.ended.message}`, endedLoopOf(state, files.state));
      return {
        ...activeStatus(state, driverLives(files, state), exists(state.taskPath), guardrailsExists),
        // As the agent has it by now.
        ...(checklist && { checklist }),
        ...scenariosOf(files, state.loopId),
      };
    }
    default:
      return found satisfies never;
  }
}

function activeStatus(
  state: LoopState,
  alive: boolean | null,
  promptExists: boolean,
  guardrailsExists: boolean,
): ActiveStatus {
  const { iteration, startedAt, lastRunAt, name, loopId, status, mode, taskPath, maxIterations, idleIterations } =
    state;
  const { stopRequested, sessionId, clientPid } = state;
  const { costBaseUsd: _, ...usage } = state.usage;
  return {
    ...{ active: true, iteration, startedAt, lastRunAt },
    lastFindingsCount: state.lastFindingsCount ?? 'unknown',
    ...{ promptExists, guardrailsExists, name, loopId, status, mode, taskPath, maxIterations, idleIterations },
    waitingUntil: state.status === 'waiting' ? state.waiting.until : null,
    waitingFor: state.status === 'waiting' ? (state.waiting.why ?? 'idle') : null,
    paused: state.status === 'paused' ? { ...state.paused, message: forLoop(state.paused.message, state) } : null,
    ...{ stopRequested, sessionId, clientPid },
    clientAlive: alive,
    usage,
    ...listed(state),
  };
}

function scenariosOf(files: LoopFiles, loopId: string): Pick<ActiveStatus, 'scenarios'> {
  const list = peekTdd(files);
  if (list?.loopId !== loopId) return {};
  return { scenarios: { done: list.completed.length, total: list.scenarios.length, current: list.current } };
}
