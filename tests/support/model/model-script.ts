import { type Reply, text } from './model-reply.ts';
import type { ModelRequest } from './model-request.ts';

export type Answer = (request: ModelRequest) => Reply | Promise<Reply>;

/** Who answers what. Only `main` is needed: the others have harmless defaults and never use up a step. */
export type Script = {
  readonly main: Answer;
  readonly subagent?: Answer;
  readonly compaction?: Answer;
  readonly auxiliary?: Answer;
  /** What went wrong so far, seen from the script: steps left over, requests beyond the last step. */
  readonly problems?: () => readonly string[];
};

export type Step = Reply | Answer;

const answerStep = (step: Step, request: ModelRequest): Reply | Promise<Reply> =>
  typeof step === 'function' ? step(request) : step;

/**
 * One step a main request, in order. A retry after an API error is a request too and uses up the next step.
 * Beyond the last step `final` answers; without one, the over-run is a problem (and the reply says so).
 */
export const steps = (list: readonly Step[], final?: Step): Script => {
  let next = 0;
  let overruns = 0;
  return {
    main: (request) => {
      const step = list[next];
      if (step !== undefined) {
        next += 1;
        return answerStep(step, request);
      }
      if (final !== undefined) return answerStep(final, request);
      overruns += 1;
      return text('SCRIPT OVERRUN: the scripted model has no step left');
    },
    problems: () => [
      ...(next < list.length ? [`${list.length - next} of ${list.length} steps were never asked for`] : []),
      ...(overruns > 0 ? [`${overruns} requests came after the last of ${list.length} steps`] : []),
    ],
  };
};

/** The first rule whose pattern matches the last user text answers; what nothing matches goes to `otherwise`. */
export const byLastUserText = (
  rules: readonly (readonly [RegExp, Step])[],
  otherwise: Step = text('nothing scripted for this'),
): Script => ({
  main: (request) => {
    const rule = rules.find(([pattern]) => pattern.test(request.lastUserText));
    return answerStep(rule?.[1] ?? otherwise, request);
  },
});
