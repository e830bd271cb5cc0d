import type { Effect } from '../../engine/effects.ts';
import type { Tell } from '../../engine/runner-event.ts';
import type { Dispatched, Prompt, Turn } from './turn.ts';

/** What follows a driver's own part: effects to run, or the answer that ends the call. */
export type Next<Answer> = Dispatched | { readonly answer: Answer };

/** The part of a turn in which hook, runner and router differ. */
export interface Driver<Answer> {
  /** Hands the prompt to the agent: a hook answers with it, a runner runs an agent to its end, a router answers a spawn. */
  readonly deliver: (turn: Turn, prompt: Prompt) => Promise<Next<Answer>>;
  readonly wait: (turn: Turn, until: string) => Promise<Next<Answer>>;
  /** The engine has no further step for the agent. `step` is undefined if it answered with none. */
  readonly release: (
    turn: Turn,
    step: Extract<Effect, { type: 'allow' | 'ignore' }> | undefined,
  ) => Promise<Next<Answer>>;
  readonly notify: (turn: Turn, message: string) => void;
  readonly tell: Tell;
  /** Answers once the driver was told to exit. Absent in a hook, whose loop the engine pauses. */
  readonly leave?: (turn: Turn) => Answer;
}
