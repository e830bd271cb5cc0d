import type { Baseline, ProvedWork } from '../../engine/schema/proof.ts';

/** Facts about the rest of the plan for a loop that works on one task. */
export interface PlanTerms {
  /** Id of its task as the plan writes it. */
  readonly task: string;
  /** The main project, absolute. Its checkout is on the plan's branch. */
  readonly mainDir: string;
  readonly branch: string;
  /** Number of tasks done in this session when the loop began. */
  readonly done: number;
  /** Results of the last verification before its task; absent if they are unknown. */
  readonly baseline?: Baseline;
}

/** A loop on one task of a plan, in a worktree with copies of the main project's plan and progress file. */
export interface PlanPart extends PlanTerms {
  /**
   * Waits until every task before this one has ended. Resolves with the ids of the tasks done in this session; no other task
   * is committed until `endTurn` or the end of the loop. Rejects with the abort's reason, and with RalphError `refused` if
   * the turn can never come.
   */
  readonly takeTurn: (signal: AbortSignal) => Promise<readonly string[]>;
  /** `proved` is null for a task that is not done. */
  readonly endTurn: (proved: ProvedWork | null) => void;
}
