import type { RunStatus, TaskIterationRecord } from '../core/schema/run-state.ts';
import { checkShape, type Shape } from './check-shape.ts';
import { readAllLines } from './read-all-lines.ts';
import { readRegularFile } from './read-regular-file.ts';
import { hasRunDir, type RunFiles, refuseLink } from './run-files.ts';

/** What a task folder tells of its run. */
export interface RunState {
  /** null where no run has left one, or where `problem` says why it cannot be read. */
  readonly status: RunStatus | null;
  /** The last line of the iterations, or null. */
  readonly lastIteration: TaskIterationRecord | null;
  /** Lines of the iterations that cannot be read. */
  readonly torn: number;
  readonly problem: string | null;
}

const MAX_STATUS = 1024 * 1024;

/** What a reader shows. Anybody may write in a task folder: what is not so is not shown. */
const STATUS: Shape = {
  loopId: 'text',
  name: 'string?',
  taskPath: 'string',
  status: 'text',
  iteration: 'count',
  maxIterations: 'count',
  idleIterations: 'count',
  startedAt: 'instant',
  updatedAt: 'instant',
  endedAt: 'instant?',
  completion: {
    promise: 'string?',
    gate: 'string',
    requiredOutputs: ['string'],
    verified: 'boolean',
    rejection: ['string'],
  },
  message: 'string?',
};

const ITERATION: Shape = {
  loopId: 'string',
  iteration: 'count',
  status: 'string',
  endedAt: 'instant',
  durationMs: 'amount',
  progress: ['boolean', 'string'],
  changedFiles: ['string'],
  completion: { promiseSeen: 'boolean', gateChecked: 'boolean', gatePassed: 'boolean', reasons: ['string'] },
  commands: [{ name: 'string', outcome: 'string' }],
};

/** Reads the durable status of a task folder's run; null where there has been none. Throws `refused` on links. */
export function readRunState(files: RunFiles): RunState | null {
  if (!hasRunDir(files)) return null;
  for (const path of [files.status, files.iterations]) refuseLink(path);
  const { status, problem } = readStatus(files);
  const { entries, torn } = readAllLines(files.iterations);
  const records = entries.filter((entry) => checkShape(entry, ITERATION) === null);
  if (status === null && problem === null && entries.length + torn === 0) return null;
  const lastIteration = (records.at(-1) ?? null) as TaskIterationRecord | null;
  return { status, lastIteration, torn: torn + entries.length - records.length, problem };
}

function readStatus(files: RunFiles): Pick<RunState, 'status' | 'problem'> {
  const text = readRegularFile(files.status, MAX_STATUS);
  if (text === null) return { status: null, problem: null };
  try {
    const status: unknown = JSON.parse(text);
    const problem = checkShape(status, STATUS);
    return problem === null
      ? { status: status as RunStatus, problem: null }
      : { status: null, problem: `${files.status} cannot be used: ${problem}.` };
  } catch (error) {
    return { status: null, problem: `${files.status} cannot be read: ${(error as Error).message}` };
  }
}
