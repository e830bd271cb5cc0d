import type { Effect, Sign } from '../effects.ts';
import { budgetText, maxIterationsText, signalName, stoppedText, tripText, UNKNOWN_COST } from '../messages.ts';
import type { Trip } from '../policy/breaker.ts';
import type { BudgetReading } from '../policy/budget.ts';
import type { Policy } from '../schema/policy.ts';
import type { Failure, LoopState } from '../schema/state.ts';
import { end, type Transition } from './build.ts';

export type Reached =
  | { readonly by: 'failure'; readonly failure: Failure }
  | { readonly by: 'user' | 'iterations' | 'unknown-cost' }
  | { readonly by: 'breaker'; readonly trip: Trip }
  | { readonly by: 'budget'; readonly budget: BudgetReading };

export function endBy(state: LoopState, at: string, { pace }: Policy, reached: Reached): Transition {
  switch (reached.by) {
    case 'failure':
      return end(state, at, reached.failure.as, reached.failure.message);
    case 'user':
      return end(state, at, 'stopped', stoppedText(state));
    case 'iterations': {
      const barren = pace.tracksProgress && !state.progressed;
      const as = barren ? 'no-progress-exhaustion' : 'max-iterations';
      return end(state, at, as, maxIterationsText(state.iteration, as, barren ? state.unknownProgress : 0));
    }
    case 'breaker': {
      const { trip } = reached;
      const stopped = end(state, at, 'circuit-open', tripText(trip));
      const sign = tripSign(signalName(trip.signal), trip.evidence);
      return { state: stopped.state, effects: [{ type: 'add-sign', sign } satisfies Effect, ...stopped.effects] };
    }
    case 'budget': {
      const { name, text } = reached.budget;
      return end(state, at, 'budget-exhausted', budgetText(name, text));
    }
    case 'unknown-cost':
      return end(state, at, 'budget-exhausted', UNKNOWN_COST);
    default:
      return reached satisfies never;
  }
}

function tripSign(signal: string, evidence: string): Sign {
  return {
    name: `Circuit breaker: ${signal}`,
    trigger: `Iterations repeat themselves (${signal}).`,
    instruction: 'Do it another way, or say plainly what blocks you.',
    addedAfter: evidence,
  };
}
