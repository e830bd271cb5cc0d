import type { ClientIdentity } from '../../core/bind-session.ts';
import type { LoopState } from '../../core/schema/state.ts';
import { identityOf, isAlive } from '../../state/process-identity.ts';
import type { DriverContext } from './context.ts';

/**
 * Whose loop this is, seen from the session that a hook runs in. `ours`: this session's. `unbound`: nobody's yet, and
 * this session may take it. `foreign`: somebody else's, which is left alone.
 */
export type Ownership = 'ours' | 'unbound' | 'foreign';

export function ownership(state: LoopState, context: DriverContext): Ownership {
  const { env, input } = context;
  if (state.mode !== 'hook' || drivenElsewhere(env)) return 'foreign';
  const wanted = env['RALPH_LOOP_ID'];
  if (wanted !== undefined && wanted !== '' && wanted !== state.loopId) return 'foreign';
  if (state.sessionId === input.sessionId) return 'ours';
  if (state.sessionId === null) return 'unbound';
  return sameClient(state, clientIdentity(context)) ? 'ours' : 'foreign';
}

/** A runner or a host session drives the client that runs this hook: no loop here is decided by it. */
export function drivenElsewhere(env: NodeJS.ProcessEnv): boolean {
  return env['RALPH_DRIVER'] === 'runner' || env['RALPH_DRIVER'] === 'router';
}

/** Whether this hook runs in the agent that the runner of this very loop has started: the runner decides, the rules hold. */
export function runnersOwn(loopId: string, env: NodeJS.ProcessEnv): boolean {
  return env['RALPH_DRIVER'] === 'runner' && env['RALPH_LOOP_ID'] === loopId;
}

/** Whether this hook runs in a subagent that the host of this very loop has started: the router decides, the rules hold. */
export function routersOwn(state: LoopState, context: DriverContext): boolean {
  const { env, input } = context;
  if (env['RALPH_DRIVER'] !== 'router' || state.mode !== 'router') return false;
  return state.sessionId === input.sessionId || sameClient(state, clientIdentity(context));
}

/** The client that runs this hook. */
export function clientIdentity({ env, input }: DriverContext): ClientIdentity {
  const pid = Number(env['CLAUDE_PID']);
  const known = Number.isInteger(pid) && pid > 0;
  return {
    sessionId: input.sessionId,
    clientPid: known ? pid : null,
    clientStartedAt: known ? identityOf(pid).startedAt : null,
  };
}

/** `/clear` changes the session and keeps the process. */
function sameClient(state: LoopState, client: ClientIdentity): boolean {
  return (
    client.clientPid !== null &&
    state.clientPid === client.clientPid &&
    state.clientStartedAt === client.clientStartedAt
  );
}

/** Whether the client that a loop is bound to still runs; an unknown process counts as gone. */
export function clientAlive(state: LoopState): boolean {
  return state.clientPid !== null && isAlive({ pid: state.clientPid, startedAt: state.clientStartedAt });
}
