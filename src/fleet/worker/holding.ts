import { hostname } from 'node:os';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { FleetTerms } from '../contract-terms.ts';
import type { FleetPlace } from '../git/place.ts';
import type { Workspace } from '../git/workspace.ts';
import type { FleetKey, Submission } from '../job.ts';
import type { FleetLimits, Reservations } from '../queue/budget.ts';
import type { FleetServer } from '../queue/connect.ts';
import type { EventSink } from '../queue/events.ts';
import type { LoopProgress } from '../queue/loop-index.ts';
import type { CheckpointLine } from './checkpoint-line.ts';
import type { LoopCommands } from './loop-commands.ts';

export interface Claim {
  readonly submission: Submission;
  readonly server: FleetServer;
  readonly key: FleetKey;
  readonly place: FleetPlace;
  readonly limits: FleetLimits;
  /** Environment of the runner, its agent and its checks. */
  readonly env: NodeJS.ProcessEnv;
  /** Options of node and the program, to which the words of a command are appended. */
  readonly program: readonly string[];
  /** Last reported checkpoint; null if there is none. */
  readonly told: string | null;
  /** Aborted when another worker may have the lock of the job. */
  readonly lost: AbortSignal;
  /** Aborted when the worker is about to end: the loop stops after its iteration. */
  readonly leaving: AbortSignal;
  /** Aborted when the worker's grace period is over: the iteration is ended. */
  readonly hurry: AbortSignal;
  readonly progress: (progress: LoopProgress) => Promise<void>;
}

/** Context of the holder of one loop. */
export interface Holding extends Claim {
  /** Terms of the task in the workspace, equal to those of the submission. */
  readonly terms: FleetTerms;
  readonly ws: Workspace;
  readonly files: LoopFiles;
  readonly line: CheckpointLine;
  readonly commands: LoopCommands;
  readonly budget: Reservations;
  readonly events: EventSink;
}

/** End of a claim: with the end of the loop, or with a wait. */
export type HeldEnd =
  | { readonly kind: 'ended'; readonly outcome: string; readonly reason: string; readonly report: string }
  | { readonly kind: 'waits'; readonly until: number; readonly why: string };

/** Returns an end without a report of the loop itself. */
export function endedAs(outcome: string, reason: string): HeldEnd {
  return { kind: 'ended', outcome, reason, report: '' };
}

/** Returns the name of this worker in the progress of loops. */
export function thisWorker(): string {
  return `${hostname()}:${process.pid}`;
}
