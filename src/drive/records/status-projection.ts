import type { Effect } from '../../engine/events.ts';
import type { Contract, TaskTerms } from '../../engine/schema/contract.ts';
import type { LoopIteration, RunStatus, TaskIterationRecord } from '../../engine/schema/records.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { type LoopFiles, orLogged, readContract } from '../../state/loop-files.ts';
import { beat, endBeat, prune, type RunFiles, takeFlags } from '../../state/task-folder/run-files.ts';
import type { TranscriptParts } from '../../state/task-folder/run-state.ts';
import {
  keepOutOfGit,
  mirrorEvent,
  mirrorIteration,
  mirrorStatus,
  putForeignRunAway,
  putRunAway,
  showEvent,
  showIteration,
  showState,
  summaryOf,
  writeTranscript,
} from '../../state/task-folder/run-state.ts';
import { withState } from '../../state/with-state.ts';
import { loopDirectory, runFilesOf } from '../../task/task-file.ts';
import { pick } from '../../text/json.ts';
import type { ChecklistCount } from '../../text/markdown/lists.ts';
import { nullIfRefused } from '../../text/message.ts';
import { type Counted, isShownAsLost, lostIteration } from './prompted-turn.ts';

/** Read-only projection of a loop into its task folder. Failures are logged and never affect a decision. */
export interface StatusProjection {
  /** Begins or resumes a run: removes old flags, and shows an iteration whose process died first. */
  readonly begin: (event: Effect, counted: Counted) => void;
  readonly events: (effects: readonly Effect[]) => void;
  /** Shows the state on disk, under its lock; for an ended loop the given state, whose lock the caller holds. */
  readonly status: (at: string, ended?: LoopState) => void;
  /** Shows an iteration once, after a lost one before it. */
  readonly iteration: (record: TaskIterationRecord, transcript: TranscriptParts, facts?: AgentFacts) => void;
  /** Shows the last iteration if the process that counted it died before showing it. */
  readonly lost: (counted: Counted) => void;
}

const skip = (): void => undefined;
const NO_PROJECTION: StatusProjection = { begin: skip, events: skip, status: skip, iteration: skip, lost: skip };

/** Returns the projection of a loop. `given` is the contract of a loop that may have ended. */
export function projectionOf(files: LoopFiles, at: string, given?: Contract): StatusProjection {
  // An unreadable contract is reported elsewhere.
  const contract = given ?? nullIfRefused(() => readContract(files)?.contract ?? null);
  const run = contract && runFilesOf(files.projectDir, contract);
  if (contract === null || contract.task === null || run === null) return NO_PROJECTION;
  const { task } = contract;
  const directory = loopDirectory(files.projectDir, contract.taskPath);
  const tried = (write: () => void): void => void orLogged(files, at, 'mirror', write);
  const write = (state: LoopState, now: string): void => {
    writeStatus(run, state, runStatus(state, contract, task, now));
    if (directory !== null) showState(directory, state);
  };
  const show = (record: TaskIterationRecord, transcript: TranscriptParts, facts?: AgentFacts): void => {
    tried(() => mirrorIteration(run, record));
    tried(() => writeTranscript(run, record.iteration, transcript));
    if (directory !== null) tried(() => showIteration(directory, loopIteration(record, transcript.message, facts)));
  };
  const projection: StatusProjection = {
    begin: (event, counted) => {
      const isNew = event.type === 'record-event' && event.event.type === 'loop.started';
      if (directory !== null) tried(() => keepOutOfGit(directory));
      if (directory !== null && isNew) tried(() => putRunAway(directory, at));
      if (isNew) tried(() => putForeignRunAway(run, at));
      tried(() => takeFlags(run));
      tried(() => prune(run, at));
      projection.lost(counted);
      projection.events([event]);
      projection.status(at);
    },
    events: (effects) => {
      for (const effect of effects) {
        if (effect.type !== 'record-event') continue;
        tried(() => mirrorEvent(run, effect.event));
        if (directory !== null) tried(() => showEvent(directory, effect.event));
      }
    },
    status: (now, ended) =>
      tried(() => {
        if (ended !== undefined) return write(ended, now);
        // Under the lock, so that a state read before another process ended the loop is not shown after its end.
        withState(files, (current) => {
          if (current.kind === 'loop' && current.state.loopId === contract.loopId) write(current.state, now);
          return { next: 'keep', result: undefined };
        });
      }),
    iteration: (record, transcript, facts) => {
      projection.lost(countedBefore(record));
      tried(() => {
        // Another process may have shown it as lost.
        if (record.status === 'idle' || !isShownAsLost(run, record)) show(record, transcript, facts);
      });
    },
    lost: (counted) =>
      tried(() => {
        const found = lostIteration(files, run, counted);
        if (found !== null) show(found.record, found.transcript);
      }),
  };
  return projection;
}

function writeStatus(run: RunFiles, state: LoopState, status: RunStatus): void {
  mirrorStatus(run, status);
  if (state.status === 'ended') endBeat(run, state.loopId);
  else beat(run, state.loopId, status.updatedAt);
}

export function countedBy({ loopId, iteration, lastRunAt, breaker }: LoopState): Counted {
  return { loopId, iteration, lastRunAt, noProgress: breaker.noProgress };
}

function countedBefore({ loopId, status, iteration, startedAt, noProgressStreak }: TaskIterationRecord): Counted {
  const before = status === 'idle' ? iteration : iteration - 1;
  return { loopId, iteration: before, lastRunAt: startedAt, noProgress: noProgressStreak };
}

function runStatus(state: LoopState, contract: Contract, task: TaskTerms, at: string): RunStatus {
  const { completion } = contract.policy;
  const { inFlight, notices } = state;
  const ended = state.status === 'ended' ? state.ended : null;
  return {
    ...pick(state, ['loopId', 'name', 'taskPath']),
    status: state.status === 'ended' ? state.ended.as : state.status,
    ...pick(state, ['iteration', 'maxIterations', 'idleIterations', 'startedAt']),
    updatedAt: at,
    endedAt: ended?.at ?? null,
    completion: {
      promise: completion.kind === 'none' ? null : completion.text,
      gate: task.gate,
      requiredOutputs: task.requiredOutputs,
      verified: ended?.verified ?? false,
      ...(ended?.proof && { proof: ended.proof }),
      rejection: [...(inFlight?.notices.rejection ?? []), ...notices.rejection],
    },
    guardrails: contract.guardrails,
    message: state.status === 'paused' ? state.paused.message : (ended?.message ?? null),
  };
}

/** Further facts about an iteration's agent; missing ones are unknown. */
interface AgentFacts extends Partial<Pick<LoopIteration, 'turns' | 'toolCalls' | 'model'>> {
  readonly checklist?: ChecklistCount | undefined;
}

/** Returns a loop directory's record of an iteration. `message` is the agent's final one, or null. */
function loopIteration(
  record: TaskIterationRecord,
  message: string | null,
  { turns = null, toolCalls = null, model = null, checklist }: AgentFacts = {},
): LoopIteration {
  return {
    ...pick(record, ['loopId', 'iteration']),
    outcome: record.status,
    ...pick(record, ['startedAt', 'endedAt', 'durationMs', 'usage']),
    turns,
    toolCalls,
    model,
    checklist: checklist === undefined ? null : pick(checklist, ['done', 'total']),
    ...pick(record, ['progress', 'completion']),
    summary: summaryOf(message ?? ''),
  };
}
