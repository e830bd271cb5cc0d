import { existsSync } from 'node:fs';
import type { ClientIdentity } from '../../engine/initial-state.ts';
import type { Counters, LoopState } from '../../engine/schema/state.ts';
import type { HookHost } from '../../hosts/hook-io/hook-host.ts';
import type { HookInput } from '../../hosts/hook-io/hook-input.ts';
import { withoutGitExcludes } from '../../sandbox/environment.ts';
import { readRecord, removeIfThere } from '../../state/files/regular-file.ts';
import { isHeld, runnerHold } from '../../state/lock/owner.ts';
import { LOOP_NAME, type LoopFiles, type LoopRecords, loopFiles } from '../../state/loop-files.ts';
import { commandOf, identityOf, isAlive, type ProcessIdentity, statFields } from '../../state/process/identity.ts';
import { jsonOrNull } from '../../text/json.ts';
import { instantOf } from '../../text/time.ts';

/** What a hook knows of its call before it reads anything from disk. */
export interface DriverContext {
  readonly input: HookInput;
  readonly env: NodeJS.ProcessEnv;
  readonly files: LoopFiles;
  readonly now: () => string;
  /** Client that calls the hook; absent for Claude Code in tests. */
  readonly host?: HookHost;
}

/** Returns the context of a hook: the loop that the environment names, in the project where the client was started. */
export function driverContext(input: HookInput, env: NodeJS.ProcessEnv, host?: HookHost): DriverContext {
  const name = env['RALPH_LOOP'];
  const sessionDir = host?.namesCallDir ? process.cwd() : input.cwd;
  const loopName = name !== undefined && LOOP_NAME.test(name) ? name : null;
  // Only Claude Code sets it; another client may have been started from one of its shells.
  const { CLAUDE_PID: _, ...others } = env;
  return {
    input,
    env: withoutGitExcludes(namesProcess(host) ? env : others),
    files: loopFiles(env['CLAUDE_PROJECT_DIR'] || sessionDir, loopName, env),
    now: () => instantOf(Date.now()),
    ...(host && { host }),
  };
}

/** Owner of a loop as seen from a hook's session. `unbound`: none yet. `foreign`: another session or driver. */
type Ownership = 'ours' | 'unbound' | 'foreign';

export function ownership(state: LoopState, env: NodeJS.ProcessEnv, sessionId: string): Ownership {
  if (state.mode !== 'hook' || drivenElsewhere(env)) return 'foreign';
  const wanted = env['RALPH_LOOP_ID'];
  if (wanted !== undefined && wanted !== '' && wanted !== state.loopId) return 'foreign';
  if (state.sessionId === sessionId) return 'ours';
  if (state.sessionId === null) return 'unbound';
  return sameClient(state, clientIdentity(env, sessionId)) ? 'ours' : 'foreign';
}

/**
 * Returns the loop for which a client without a state was started, else the loop to which its session was last bound; null
 * without one. If the counters are gone too, nothing shows to whom a live loop belongs: every session in a loop is held.
 */
export function loopOfSession(found: LoopRecords, env: NodeJS.ProcessEnv, sessionId: string): string | null {
  const known = env['RALPH_LOOP_ID'] || boundLoop(found, env, sessionId);
  if (known !== null || drivenElsewhere(env) || found.counters !== null) return known;
  return typeof found.contract === 'string' ? null : found.contract.contract.loopId;
}

/** Returns the loop to which this session was last bound, as recorded outside the project; null without one. */
export function boundLoop({ counters }: LoopRecords, env: NodeJS.ProcessEnv, sessionId: string): string | null {
  return !drivenElsewhere(env) && counters?.sessionId === sessionId ? counters.loopId : null;
}

/** Returns whether a runner or a router drives the client of this hook and decides in its place. */
export function drivenElsewhere(env: NodeJS.ProcessEnv): boolean {
  return env['RALPH_DRIVER'] === 'runner' || env['RALPH_DRIVER'] === 'router';
}

/** Returns whether this hook runs in an agent of this loop's runner, which decides; the hook applies the guardrails. */
export function runnersOwn(loopId: string, env: NodeJS.ProcessEnv): boolean {
  return env['RALPH_DRIVER'] === 'runner' && env['RALPH_LOOP_ID'] === loopId;
}

/** Returns whether this loop's guardrails apply to this hook: in an agent of another loop's runner, only that loop's do. */
export function rulesApply(loopId: string, env: NodeJS.ProcessEnv): boolean {
  return !drivenElsewhere(env) || env['RALPH_DRIVER'] === 'router' || runnersOwn(loopId, env);
}

/** Returns whether this hook runs in a subagent of the session that hosts this loop's router, which decides. */
export function routersOwn(state: LoopState, env: NodeJS.ProcessEnv, sessionId: string): boolean {
  if (env['RALPH_DRIVER'] !== 'router' || state.mode !== 'router') return false;
  return state.sessionId === sessionId || sameClient(state, clientIdentity(env, sessionId));
}

function clientIdentity(
  { CLAUDE_PID }: NodeJS.ProcessEnv,
  sessionId: string,
  pid = Number(CLAUDE_PID),
): ClientIdentity {
  if (!Number.isInteger(pid) || pid <= 0) return { sessionId, clientPid: null, clientStartedAt: null };
  return { sessionId, clientPid: pid, clientStartedAt: identityOf(pid).startedAt };
}

const namesProcess = (host: HookHost | undefined): boolean => host?.settings === undefined;

/**
 * Returns the client to which this hook binds a loop. If the client tells its hooks no process id, it is the parent of
 * hooks called without a shell, unless that is a server of many sessions, whose life says nothing about any of them.
 */
export function callingClient({ env, host, input: { event, sessionId } }: DriverContext): ClientIdentity {
  if (namesProcess(host)) return clientIdentity(env, sessionId);
  const isCaller = event !== 'PreToolUse' && !commandOf(process.ppid).includes('app-server');
  return clientIdentity(env, sessionId, isCaller ? process.ppid : 0);
}

/**
 * Returns whether another, living client works on this session's loop: a conversation continued a second time has the same
 * session. Neither a state rewritten by another program nor a reused process id frees a session.
 */
export function isHeldByAnother(state: LoopState, client: ClientIdentity, counters: Counters | null): boolean {
  if (state.mode !== 'hook' || state.clientStartedAt === null || state.sessionId !== client.sessionId) return false;
  if (client.clientPid === null || sameClient(state, client) || !clientAlive(state)) return false;
  return counters?.clientPid === state.clientPid;
}

/** Returns whether the loop is bound to the process of this client: `/clear` gives a process another session. */
export function sameClient(state: LoopState, client: ClientIdentity): boolean {
  return (
    client.clientPid !== null &&
    state.clientPid === client.clientPid &&
    state.clientStartedAt === client.clientStartedAt
  );
}

/** Returns whether the client to which a loop is bound is alive; false if its process is unknown. */
export function clientAlive(state: LoopState): boolean {
  return state.clientPid !== null && isAlive({ pid: state.clientPid, startedAt: state.clientStartedAt });
}

/** Returns whether the process that drives the loop is alive; null if none is known, or a run awaits consent without one. */
export function isDriverAlive(files: LoopFiles, state: LoopState): boolean | null {
  if (state.mode === 'runner') return isHeld(runnerHold(files)) || (state.status === 'awaiting-consent' ? null : false);
  return state.clientPid === null ? null : clientAlive(state);
}

/** Returns whether the client or runner of a loop is stopped, as by Ctrl+Z; false without /proc. */
export function isSuspended({ clientPid }: LoopState): boolean {
  return clientPid !== null && statFields(clientPid)[0] === 'T';
}

/** Environment variable that names the headless launcher's process to the hooks of its client. */
const LAUNCHER = 'RALPH_LAUNCHER';

/** Returns the variable that lets hooks detect that this process, a headless launcher, has exited. */
export function launcherVariable(): Readonly<Record<string, string>> {
  return { [LAUNCHER]: JSON.stringify(identityOf(process.pid)) };
}

export function launchedHeadless(env: NodeJS.ProcessEnv): boolean {
  return env[LAUNCHER] !== undefined;
}

/** Returns whether the headless launcher of this hook's client has exited, which leaves the loop unobserved. */
export function launcherGone(env: NodeJS.ProcessEnv): boolean {
  const launcher = jsonOrNull(env[LAUNCHER] ?? '') as ProcessIdentity | null;
  return launcher !== null && !isAlive(launcher);
}

/** Marker of a loop that ended while its session may still be working; `why` is absent if its user cancelled it. */
export type Cancellation = Pick<LoopState, 'loopId' | 'sessionId'> & { readonly why?: string };

/** Returns the marker of the loop of this session if the loop ended during the session's turn; null if it did not. */
export function cancellationOf(
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  sessionId: string,
): Partial<Cancellation> | null {
  // Checks for the file first: the exception for a missing one takes longest.
  if (!existsSync(files.cancellation)) return null;
  const marked = readRecord<Cancellation>(files.cancellation);
  const isOurs =
    marked?.sessionId === sessionId || (marked?.sessionId === null && marked.loopId === env['RALPH_LOOP_ID']);
  return isOurs ? marked : null;
}

/** Removes the marker at the end of the turn, a message of the user, or a start: the cancelled loop is over then. */
export function clearCancellation(files: LoopFiles): void {
  removeIfThere(files.cancellation);
}
