import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { HookToolCall } from '../../hosts/hook-io/hook-input.ts';
import { liveContract } from '../../state/evidence/evidence.ts';
import type { LoopFiles, StoredContract } from '../../state/loop-files.ts';
import { looksUnchanged } from '../../state/snapshot/look.ts';
import { mayHaveChanged, mayHaveChangedBy } from './agent-busy.ts';
import type { Found } from './messages.ts';
import type { ProtectionContext, ProtectionReport, ProtectionRequest } from './restore-protected.ts';
import { restoreProtected } from './restore-protected.ts';

/** Examines protected files before a call (`call` is null) or after one. What no call can have changed is the user's. */
export function examineAroundCall(
  context: ProtectionContext,
  state: LoopState,
  contract: Contract,
  call: HookToolCall | null,
): ProtectionReport | null {
  const { files } = context;
  const mayBeAgents = call === null ? mayHaveChanged(files, state) : mayHaveChangedBy(call, files, state);
  const found =
    call === null ? ({ when: 'idle' } as const) : ({ when: 'call', tool: call.name, callId: call.id } as const);
  return restoreProtected(context, {
    state: ofContract(state, contract),
    contract,
    found,
    depth: 'stamps',
    mayBeAgents,
  });
}

/** Examines every protected file at a given point of the loop. Returns null if nothing differs. */
export function examineAll(
  {
    context,
    loaded: { state, stored },
  }: {
    readonly context: ProtectionContext;
    readonly loaded: { readonly state: LoopState; readonly stored: StoredContract | null };
  },
  when: Exclude<Found['when'], 'call'>,
): ProtectionReport | null {
  const { files } = context;
  // Before a verification every byte is compared, because file stamps can hide a change.
  if (stored === null || (when !== 'verification' && looksUnchanged(`${files.snapshot}.look`, 'all') === true))
    return null;
  const depth = when === 'verification' ? 'content' : 'all';
  const { contract } = stored;
  const mayBeAgents = mayBeAgentsAt(when, files, state, contract);
  return restoreProtected(context, { state, contract, found: { when }, depth, mayBeAgents });
}

/** Returns a test for files that the agent, or what a check runs of it, may have changed at a given point of the loop. */
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

/** Examines every protected file after background work of the agent has ended. Throws `evidence-lost`. */
export function examineAfterBackground(context: ProtectionContext, state: LoopState): ProtectionReport | null {
  const { contract = null } = liveContract(context.files, state) ?? {};
  if (contract === null) return null;
  const found = { when: 'background' } as const;
  const mayBeAgents = (): boolean => true;
  return restoreProtected(context, { state: ofContract(state, contract), contract, found, depth: 'all', mayBeAgents });
}

/** Returns a state, which the agent could write, with the loop that its contract names. */
function ofContract(state: LoopState, { loopId }: Contract): LoopState {
  return { ...state, loopId };
}
