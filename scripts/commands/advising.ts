import { RalphError } from '../../src/core/ralph-error.ts';
import { type AdvisedLoop, forLoop } from '../../src/term/for-loop.ts';

/** Does something about a loop; what it throws for the user advises commands that mean this loop. */
export function advising<T>(loop: AdvisedLoop, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RalphError) || !isAboutALoop(error)) throw error;
    throw new RalphError(error.code, forLoop(error.message, loop), error);
  }
}

/** What is wrong with a task advises commands that are about no loop. */
function isAboutALoop({ code, message }: RalphError): boolean {
  return code === 'refused' || code === 'no-loop' || /main\.cjs start --(?:resume|fresh)\b/.test(message);
}
