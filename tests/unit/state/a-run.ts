import type { RunStatus, TaskIterationRecord } from '../../../src/engine/schema/records.ts';

/** A run status for tests. */
export function aStatus(change: Partial<RunStatus> = {}): RunStatus {
  return {
    loopId: 'loop-1',
    name: 'task',
    taskPath: 'task/RALPH.md',
    status: 'running',
    iteration: 1,
    maxIterations: 20,
    idleIterations: 0,
    startedAt: '2026-02-28T10:00:00Z',
    updatedAt: '2026-02-28T10:01:00Z',
    endedAt: null,
    completion: { promise: 'DONE', gate: 'required', requiredOutputs: [], verified: false, rejection: [] },
    guardrails: { blockCommands: [], shellAllow: null, protectedFiles: [], privateFiles: [], strict: false },
    message: null,
    ...change,
  };
}

/** An iteration of a task folder for tests. */
export function aRecord(change: Partial<TaskIterationRecord> = {}): TaskIterationRecord {
  return {
    loopId: 'loop-1',
    iteration: 1,
    status: 'completed',
    startedAt: '2026-02-28T10:00:00Z',
    endedAt: '2026-02-28T10:01:00Z',
    durationMs: 60_000,
    progress: true,
    changedFiles: ['notes.md'],
    noProgressStreak: 0,
    completion: { promiseSeen: false, gateChecked: false, gatePassed: false, reasons: [] },
    commands: [],
    snapshotBounds: [],
    usage: null,
    ...change,
  };
}
