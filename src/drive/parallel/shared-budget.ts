import { allowanceOf, readLimits, type Spent } from '../../engine/policy/budget.ts';
import type { Batch } from '../../engine/schema/batch.ts';
import type { Permit } from '../runner/runner.ts';
import { PARALLEL_TEXTS } from './messages.ts';

/** Counts what concurrent loops have used, and holds all of them at a rate limit of their account. */
export class SharedBudget {
  readonly #spent = new Map<string, Spent>();
  #heldUntil = 0;
  readonly #limits: Batch['limits'];
  /** Epoch milliseconds. */
  readonly #startedAt: number;
  /** Milliseconds since the start that the time limit does not count. */
  stoppedMs: number;

  /** Adds up the usage of the tasks that have ended. */
  constructor({ limits, startedAt, stoppedMs, tasks }: Pick<Batch, 'limits' | 'startedAt' | 'stoppedMs' | 'tasks'>) {
    this.#limits = limits;
    this.#startedAt = Date.parse(startedAt);
    this.stoppedMs = stoppedMs;
    for (const { name, end } of tasks) if (end !== null) this.note(name, end);
  }

  /** Records the total usage of a loop. A loop without a run has cost nothing, which its state does not record. */
  note(loop: string, { costUsd, tokens }: Spent): void {
    this.#spent.set(loop, { costUsd: tokens === 0 ? (costUsd ?? 0) : costUsd, tokens });
  }

  /** Holds every loop until then, in epoch milliseconds. */
  hold(until: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, until);
  }

  of(loop: string): Spent | undefined {
    return this.#spent.get(loop);
  }

  /** Returns the usage of all loops; the cost is null while that of any loop is unknown. */
  get spent(): Spent {
    const all = [...this.#spent.values()];
    const costs = all.map(({ costUsd }) => costUsd);
    return {
      costUsd: costs.includes(null) ? null : costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0),
      tokens: all.reduce((sum, { tokens }) => sum + tokens, 0),
    };
  }

  /** Returns whether another agent run may start at `at`, in epoch milliseconds. */
  permit(at: number): Permit {
    const [limits, spent, passed] = [this.#limits, this.spent, at - this.#startedAt - this.stoppedMs];
    if (limits.maxCostUsd !== null && spent.costUsd === null)
      return { kind: 'budget', reading: PARALLEL_TEXTS.unknownCost };
    const reached = readLimits(spent, passed, limits).find(({ used, limit }) => used >= limit);
    if (reached !== undefined) return { kind: 'budget', reading: reached.text };
    if (at < this.#heldUntil) return { kind: 'hold', until: new Date(this.#heldUntil).toISOString() };
    return { kind: 'go', allowance: allowanceOf(spent, passed, limits) };
  }
}
