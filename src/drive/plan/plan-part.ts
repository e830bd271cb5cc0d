/** What a loop on one task of a plan knows of the others. */
export interface PlanTerms {
  /** Id of its task as the plan writes it. */
  readonly task: string;
  /** The main project, absolute. Its checkout is on the plan's branch. */
  readonly mainDir: string;
  readonly branch: string;
  /** Tasks that were done in this session when the loop began. */
  readonly done: number;
}

/**
 * A loop on one task of a plan, in a worktree of its own, beside loops on other tasks. The plan and its progress file
 * are those of the main project; the ones in the worktree are copies.
 */
export interface PlanPart extends PlanTerms {
  /**
   * Waits until every task before this one has ended. Resolves with the ids of the tasks done in this session; until
   * `endTurn`, or the end of the loop, no other task is committed. Rejects with the abort's reason, and with RalphError
   * `refused` if the turn can never come.
   */
  readonly takeTurn: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly endTurn: () => void;
}
