import type { Contract, StoredContract } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { HookToolCall } from '../../hosts/hook-io/hook-input.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { looksUnchanged } from '../../state/snapshot/look.ts';
import { mayHaveChanged, mayHaveChangedBy } from './agent-busy.ts';
import type { Found } from './messages.ts';
import type { ProtectionContext, ProtectionReport, ProtectionRequest } from './restore-protected.ts';

type Examination = Pick<ProtectionRequest, 'found' | 'depth' | 'mayBeAgents'>;

/**
 * Examines protected files before a call (`call` is null) or after one, by lstat alone while nothing has changed. A change
 * that no call can have made is the user's.
 */
export async function examineAroundCall(
  context: ProtectionContext,
  state: LoopState,
  contract: Contract,
  call: HookToolCall | null,
): Promise<ProtectionReport | null> {
  const { files } = context;
  if (looksUnchanged(`${files.snapshot}.look`) === true) return null;
  const mayBeAgents = call === null ? mayHaveChanged(files, state) : mayHaveChangedBy(call, files, state);
  const found: Found = call === null ? { when: 'idle' } : { when: 'call', tool: call.name, callId: call.id };
  return restore(context, state, contract, { found, depth: 'stamps', mayBeAgents });
}

/** Examines every protected file at a given point of the loop. Returns null if nothing differs. */
export async function examineAll(
  {
    context,
    loaded: { state, stored },
  }: {
    readonly context: ProtectionContext;
    readonly loaded: { readonly state: LoopState; readonly stored: StoredContract | null };
  },
  when: Exclude<Found['when'], 'call'>,
): Promise<ProtectionReport | null> {
  const { files } = context;
  // Before a verification every byte is compared, because file stamps can hide a change.
  if (stored === null || (when !== 'verification' && looksUnchanged(`${files.snapshot}.look`, 'all') === true))
    return null;
  const depth = when === 'verification' ? 'content' : 'all';
  const { contract } = stored;
  const mayBeAgents = mayBeAgentsAt(when, files, state, contract);
  return restore(context, state, contract, { found: { when }, depth, mayBeAgents });
}

/** Restores files of a loop as its contract names it: the agent could write the state. Loads the code for that only now. */
async function restore(context: ProtectionContext, state: LoopState, contract: Contract, how: Examination) {
  const { restoreProtected } = await import('./restore-protected.ts');
  return restoreProtected(context, { state: { ...state, loopId: contract.loopId }, contract, ...how });
}

/** Returns a test for files that the agent, or its code run by a check, may have changed at a given point of the loop. */
function mayBeAgentsAt(
  when: Exclude<Found['when'], 'call'>,
  files: LoopFiles,
  state: LoopState,
  { agent, sandbox }: Contract,
): ProtectionRequest['mayBeAgents'] {
  // A command agent reports no calls and may write until its turn ends.
  if (when === 'idle' || (when === 'turn' && agent === undefined)) return mayHaveChanged(files, state);
  // Checks in a sandbox cannot write the settings of client and loop.
  const closed = `${files.projectDir}/.claude/`;
  if (when !== 'checks' || sandbox === undefined) return () => true;
  const others = mayHaveChanged(files, state);
  return (path) => !path.startsWith(closed) || others(path);
}
