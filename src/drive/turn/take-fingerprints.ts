import type { StoredContract } from '../../state/contract-store.ts';
import { seenBy } from '../task/gather-evidence.ts';
import type { Measured } from '../task/measure-iteration.ts';
import type { DriverContext } from './context.ts';
import type { TurnFacts } from './gather-iteration.ts';
import type { TurnOptions } from './turn.ts';

/**
 * What the files say at the end of a turn: the fingerprint of what is watched, for an agent that says idle, and that of
 * the project, where a breaker asks for progress. null for what nobody asks for.
 */
export function takeFingerprints(
  context: DriverContext,
  options: TurnOptions,
  stored: StoredContract | null,
  measured: Measured | null,
): Pick<TurnFacts, 'seen' | 'projectMark'> {
  const policy = stored?.contract.policy;
  const { projectDir } = context.files;
  const says = context.input.lastMessage ?? 'ralph:state';
  const watch = policy?.idle?.wake === 'change' && says.includes('ralph:state') ? policy.idle.watch : null;
  const marks = (policy?.breaker.noProgress ?? 0) > 0;
  const watched =
    watch === null ? null : options.work.watchFingerprint(projectDir, watch, stored?.contract.taskPath ?? '');
  return {
    seen: seenBy(watched, stored?.contract, measured?.turn?.evidence ?? []),
    projectMark: marks ? options.work.projectFingerprint(projectDir) : null,
  };
}
