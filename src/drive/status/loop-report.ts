import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ShownNotice } from '../../engine/end-report.ts';
import { isFinishing } from '../../engine/initial-state.ts';
import { totalCost } from '../../engine/policy/budget.ts';
import type { Proof } from '../../engine/schema/proof.ts';
import type { SpawnRecord } from '../../engine/schema/records.ts';
import type { CommonState, LoopState } from '../../engine/schema/state.ts';
import { scenarioCount } from '../../engine/tdd/phases.ts';
import { lastRecord, lastWhere } from '../../state/event-stream.ts';
import { isFolder, readRecord } from '../../state/files/regular-file.ts';
import { runnerHold } from '../../state/lock/owner.ts';
import {
  findContract,
  type LoopFiles,
  loopFiles,
  loopNamesIn,
  noticesOf,
  type ReadState,
  readCounters,
} from '../../state/loop-files.ts';
import { peekTdd } from '../../state/tdd-store.ts';
import { lastArchived } from '../../state/with-state.ts';
import { type TaskKind, taskKind } from '../../task/task-file.ts';
import { pick } from '../../text/json.ts';
import type { ChecklistCount } from '../../text/markdown/lists.ts';
import { loopOfFourKeys } from '../control/operate.ts';
import { isDriverAlive, isSuspended } from '../control/ownership.ts';
import { awaitedOfUser, type DriverWait, driverWait, presentState, silentSince } from '../control/present-state.ts';
import { checklistNow } from '../prompt/read-task.ts';
import { usageNow } from '../records/client-figures.ts';
import { type WorktreePlace, worktreePlaces } from '../worktree/worktree-place.ts';

/** Status of one loop: the one model behind every view of it. */
export interface LoopReport {
  readonly files: LoopFiles;
  readonly found: ReadState;
  /** Live loop in the state file; null if there is none. */
  readonly live: LiveLoop | null;
  /** Last ended loop of these files; null if there is none. */
  readonly lastLoop: EndedLoop | null;
  readonly lastState: LoopState | null;
  readonly kind: TaskKind;
  /** Loop whose state file is missing or corrupt although it has not ended, from its contract; null if there is none. */
  readonly lost: LostLoop | null;
  /** Task file of the live or the last loop, relative to the project; null if unknown. */
  readonly taskPath: string | null;
}

/** Loop whose state file is missing or corrupt; `iteration` and `mode` come from what else is left of it. */
type LostLoop = Readonly<Pick<CommonState, 'loopId' | 'taskPath' | 'iteration' | 'mode'>> & {
  /** Time at which its contract was made. */
  readonly createdAt: string;
};

/** Fields of the state that views show unchanged. */
type Facts = 'iteration' | 'startedAt' | 'mode' | 'taskPath' | 'maxIterations';
type LiveFacts = Facts | 'lastRunAt' | 'name' | 'idleIterations' | 'stopRequested' | 'sessionId' | 'clientPid';

/** A live loop, as `status --json` publishes it. */
export interface LiveLoop extends Readonly<Pick<CommonState, LiveFacts>> {
  readonly active: true;
  /** Time since the start in which it was paused or not driven, or its machine slept, before now; absent: none. */
  readonly stoppedMs?: number;
  readonly lastFindingsCount: number | 'unknown';
  readonly promptExists: boolean;
  readonly guardrailsExists: boolean;
  readonly loopId: string | null;
  /** `interrupted`: it has not ended, but the process that drove it has exited. */
  readonly status: LoopState['status'] | 'interrupted';
  readonly waitingUntil: string | null;
  /**
   * `idle`: the agent has nothing to do; `pace`: the delay between two iterations; `retry`: the last agent could not work;
   * `background`: the agent's background work, at most until then; `answer`: a message of the user ended the wait, which
   * continues after the answer; `message`: it continues after a message in its session; `dialog`: it continues once its user has
   * decided there. Null if it is not waiting.
   */
  readonly waitingFor: 'idle' | 'pace' | DriverWait['why'] | 'answer' | 'message' | 'dialog' | null;
  readonly paused: { readonly reason: string; readonly message: string; readonly resumesAt: string | null } | null;
  /** True while its client or runner is running; null while no client is bound. */
  readonly clientAlive: boolean | null;
  /** True if its process is stopped, as by Ctrl+Z (`isSuspended`). */
  readonly suspended?: true;
  /** Since when a client that records no dialogs has recorded nothing, if it may wait for its user (`silentSince`). */
  readonly silentSince?: string;
  /** True while its agent finishes the turn in which the user paused it. */
  readonly finishing?: true;
  readonly usage: Omit<LoopState['usage'], 'costBaseUsd'> | null;
  /** Accepted changes, restored files and the like, oldest first; absent if there are none. */
  readonly notices?: readonly ShownNotice[];
  /** Current progress of its checklist; absent for other tasks. */
  readonly checklist?: ChecklistCount;
  /** Progress of its scenarios; absent unless the loop works test-first. */
  readonly scenarios?: ChecklistCount & { readonly current: string | null };
}

/** A loop that is over, as `status --json`, `list --json` and `archive --json` publish it. */
export interface EndedLoop extends Readonly<Pick<CommonState, Facts | 'loopId'>> {
  readonly status: string;
  readonly endedAt: string;
  readonly verified: boolean;
  /** What its completion rests on; null if it is not complete. */
  readonly proof: Proof | null;
  readonly costUsd: number | null;
  readonly checklist?: ChecklistCount;
  /** Accepted changes and the like, as for a live loop. */
  readonly notices?: readonly ShownNotice[];
  readonly message: string;
  /** Name of its file in the archive. */
  readonly file: string;
}

/** Reads the status of the loop of these files. Changes nothing. */
export function describeLoop(files: LoopFiles, env: NodeJS.ProcessEnv): LoopReport {
  const found = presentState(files);
  const live = liveLoopOf(found, files, env);
  const ended = found.kind === 'loop' && found.state.status === 'ended';
  const last = ended ? { state: found.state, file: files.state } : lastArchived(files);
  const lastLoop = last === null ? null : endedLoopOf(last.state, last.file, noticesOf(files, last.state.loopId));
  const lost = found.kind === 'absent' || found.kind === 'corrupt' ? lostLoop(files, last?.state) : null;
  const taskPath = live?.taskPath ?? lost?.taskPath ?? lastLoop?.taskPath ?? null;
  const kind = live === null ? taskKind(taskPath ?? '') : kindByContract(files, live.taskPath);
  return { files, found, live, lastLoop, lastState: last?.state ?? null, lost, kind, taskPath };
}

/** Returns the lost loop, or null. An ended loop has no contract, so one without a state file is a lost loop's. */
export function lostLoop(files: LoopFiles, ended = lastArchived(files)?.state): LostLoop | null {
  const found = findContract(files);
  if (typeof found === 'string' || ended?.loopId === found.contract.loopId) return null;
  const { loopId, taskPath, agent, createdAt } = found.contract;
  const kept = readCounters(files);
  const iteration = Math.max(kept?.loopId === loopId ? kept.iteration : 0, lastRecord(files, loopId)?.iteration ?? 0);
  const begun = lastWhere(files, loopId, ['loop.started', 'loop.resumed'])?.['mode'];
  // Without a journal, only a runner starts a command, and one that was killed has left its hold.
  const isRunners = begun === undefined ? agent !== undefined || existsSync(runnerHold(files)) : begun === 'runner';
  const isRouters = begun === undefined ? spawnOf(files, loopId) !== null : begun === 'router';
  const mode = isRunners ? 'runner' : isRouters ? 'router' : 'hook';
  return { loopId, taskPath, iteration, mode, createdAt };
}

function liveLoopOf(found: ReadState, files: LoopFiles, env: NodeJS.ProcessEnv): LiveLoop | null {
  // The four keys do not say.
  if (found.kind === 'four-keys')
    return { ...asLive(loopOfFourKeys(found.file, files, env), files), loopId: null, usage: null };
  return found.kind === 'loop' && found.state.status !== 'ended' ? asLive(found.state, files) : null;
}

function asLive(state: LoopState, files: LoopFiles): LiveLoop {
  const { costBaseUsd: _, ...usage } = usageNow(files, state);
  const checklist = checklistNow(files.projectDir, state.taskPath);
  const clientAlive = isDriverAlive(files, state);
  const wait = clientAlive === false ? null : waitOf(files, state);
  const silent = clientAlive && wait === null ? silentSince(state) : null;
  return {
    active: true,
    ...pick(state, ['iteration', 'startedAt', 'lastRunAt']),
    lastFindingsCount: state.lastFindingsCount ?? 'unknown',
    ...(state.stoppedMs && { stoppedMs: state.stoppedMs }),
    promptExists: existsSync(join(files.projectDir, state.taskPath)),
    guardrailsExists: existsSync(join(files.projectDir, '.claude/ralph/guardrails.md')),
    ...pick(state, ['name', 'loopId']),
    status: liveStatus(state, clientAlive),
    ...pick(state, ['mode', 'taskPath', 'maxIterations', 'idleIterations']),
    waitingUntil: state.status === 'waiting' ? state.waiting.until : (wait?.until ?? null),
    waitingFor: waitReason(state, wait, clientAlive),
    paused: state.status === 'paused' ? state.paused : null,
    ...pick(state, ['stopRequested', 'sessionId', 'clientPid']),
    clientAlive,
    ...(clientAlive && isSuspended(state) && { suspended: true }),
    ...(silent !== null && { silentSince: silent }),
    ...(clientAlive && isFinishing(state) && { finishing: true }),
    usage,
    ...(checklist === null ? recordedChecklist(state) : { checklist }),
    ...scenariosOf(files, state.loopId),
    ...ifAny(noticesOf(files, state.loopId)),
  };
}

/** Returns what the driver of a running loop waits for; a router also waits for its next subagent once it may start. Never throws. */
export function waitOf(files: LoopFiles, state: LoopState): DriverWait | null {
  const { mode, status, loopId, epoch } = state;
  if (mode !== 'router') return driverWait(state, files, new Date().toISOString());
  const spawn = status === 'running' ? spawnOf(files, loopId) : null;
  const isOpen = spawn?.epoch === epoch && spawn.heard === false;
  return isOpen && typeof spawn.retryAt === 'string' ? { why: 'retry', until: spawn.retryAt } : null;
}

/** Returns what can be read of the last spawn of this loop; null without one. Never throws. */
function spawnOf(files: LoopFiles, loopId: string): Partial<SpawnRecord> | null {
  const spawn = readRecord<Partial<SpawnRecord>>(files.spawn);
  return spawn?.loopId === loopId ? spawn : null;
}

function waitReason(state: LoopState, wait: DriverWait | null, alive: boolean | null): LiveLoop['waitingFor'] {
  const awaited = alive === false ? null : awaitedOfUser(state);
  if (state.status === 'waiting') return state.turn === 'user' ? (awaited ?? 'answer') : (state.waiting.why ?? 'idle');
  return wait?.why ?? awaited;
}

function ifAny(notices: readonly ShownNotice[]): Pick<LiveLoop, 'notices'> {
  return notices.length === 0 ? {} : { notices };
}

/** Returns `interrupted` for a loop at work whose driver has exited, else its status. */
export function liveStatus({ status }: LoopState, driverAlive: boolean | null): LoopState['status'] | 'interrupted' {
  const isAtWork = status === 'running' || status === 'waiting' || status === 'verifying';
  return isAtWork && driverAlive === false ? 'interrupted' : status;
}

function recordedChecklist({ checklist }: LoopState): { readonly checklist?: ChecklistCount } {
  return checklist === undefined ? {} : { checklist: { done: checklist.done, total: checklist.total } };
}

function scenariosOf(files: LoopFiles, loopId: string): Pick<LiveLoop, 'scenarios'> {
  const list = peekTdd(files);
  if (list?.loopId !== loopId) return {};
  return { scenarios: { ...scenarioCount(list), current: list.current } };
}

/** Returns the kind of task from the contract: only it distinguishes a plan and a test-first loop from a plain prompt. */
function kindByContract(files: LoopFiles, taskPath: string): TaskKind {
  const found = findContract(files);
  if (typeof found === 'string') return taskKind(taskPath);
  const { policy, tdd } = found.contract;
  if (policy.plan) return 'plan';
  return tdd === undefined ? taskKind(taskPath) : 'tdd';
}

/** Describes the end of an archived loop; `path` is its file. A loop archived before its end counts as interrupted. */
export function endedLoopOf(state: LoopState, path: string, notices: readonly ShownNotice[] = []): EndedLoop {
  const isEnded = state.status === 'ended';
  const message = `Archived while ${state.status}.`;
  const archived = { as: 'interrupted', at: state.lastRunAt, verified: false, proof: null, message };
  const { as: status, at: endedAt, proof = null, ...said } = isEnded ? state.ended : archived;
  return {
    ...pick(state, ['loopId', 'taskPath', 'iteration', 'maxIterations', 'mode', 'startedAt']),
    costUsd: totalCost(state.usage),
    file: basename(path),
    ...recordedChecklist(state),
    status,
    endedAt,
    verified: said.verified,
    proof,
    message: said.message,
    ...ifAny(notices),
  };
}

/** Returns the names of all loops that have files in a project, the default one (null) first. */
export function loopNames(projectDir: string, env: NodeJS.ProcessEnv): (string | null)[] {
  const { runtimeDir, outsideDir } = loopFiles(projectDir, null, env);
  // A contract is all that is left of a loop whose state was lost.
  const names = [runtimeDir, outsideDir].flatMap((folder) => (isFolder(folder) ? loopNamesIn(folder) : []));
  return [...new Set(names)].sort((a, b) => (a === null ? -1 : b === null ? 1 : a < b ? -1 : 1));
}

/** A loop of a project; `worktree` is null for a loop of the project itself. */
export type ProjectLoop = LoopReport & { readonly worktree: WorktreePlace | null };

/** Describes every loop of a project, the default one first, then those of its worktrees. */
export function describeProject(projectDir: string, env: NodeJS.ProcessEnv): ProjectLoop[] {
  const loopsIn = (dir: string, worktree: WorktreePlace | null): ProjectLoop[] =>
    loopNames(dir, env).map((name) => ({ ...describeLoop(loopFiles(dir, name, env), env), worktree }));
  const places = worktreePlaces(projectDir);
  return [...loopsIn(projectDir, null), ...places.flatMap((place) => loopsIn(place.projectDir, place))];
}

/** Returns the first loop of a project or its worktrees that is driven or, unless `isDriven`, waits for its driver. */
export function liveLoop(projectDir: string, env: NodeJS.ProcessEnv, isDriven = false): LiveLoop | null {
  const [first] = describeProject(projectDir, env).filter(
    ({ found, live }) =>
      found.kind === 'loop' && live !== null && live.clientAlive !== false && (!isDriven || live.clientPid !== null),
  );
  return first?.live ?? null;
}
