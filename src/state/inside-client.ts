import { ancestors, environmentOf } from './ancestors.ts';

/**
 * Whether this process descends from the shell of a loop's own client, or from the command that a runner has for an
 * agent, whatever it has done to its environment since: an ancestor was started with a RALPH_LOOP_ID and with
 * CLAUDECODE=1 or RALPH_DRIVER=runner. Only Linux tells; elsewhere the answer is no.
 * A process that detaches itself from its ancestors is not seen.
 */
export function insideLoopsClient(): boolean {
  return ancestors().some((pid) => {
    const variables = environmentOf(pid);
    const agents = variables.includes('CLAUDECODE=1') || variables.includes('RALPH_DRIVER=runner');
    return agents && variables.some((entry) => /^RALPH_LOOP_ID=./.test(entry));
  });
}
