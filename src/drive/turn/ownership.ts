import type { HookInput } from '../../claude/hook-io/hook-input.ts';
import type { ClientIdentity } from '../../engine/resume-state.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { runnerLives } from '../../state/lock/lease-holder.ts';
import { LOOP_NAME, type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { identityOf, isAlive } from '../../state/process/identity.ts';
import { instantOf } from '../../text/instant.ts';

/** What a driver knows before it looks at the disk: a hook as the client told it, a runner and a router for each turn. */
export interface DriverContext {
  readonly input: HookInput;
  readonly env: NodeJS.ProcessEnv;
  readonly files: LoopFiles;
  /** The wall clock, ISO-8601 UTC. */
  readonly now: () => string;
}

/** The loop that the environment names, in the project the client was started in. */
export function driverContext(input: HookInput, env: NodeJS.ProcessEnv): DriverContext {
  const name = env['RALPH_LOOP'];
  const valid = name !== undefined && LOOP_NAME.test(name) ? name : null;
  return {
    input,
    env,
    files: loopFiles(env['CLAUDE_PROJECT_DIR'] || input.cwd, valid, env),
    now: () => instantOf(Date.now()),
  };
}

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

/**
 * Whether somebody works on a loop: its client, or its runner, whose agents come and go. null while no client is bound,
 * or none whose process is known, and while a loop for a runner awaits consent: nobody is to work on it yet.
 */
export function isDriverAlive(files: LoopFiles, state: LoopState): boolean | null {
  if (state.mode === 'runner') return runnerLives(files) || (state.status === 'awaiting-consent' ? null : false);
  return state.clientPid === null ? null : clientAlive(state);
}
