import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { placeholderPaths } from '../../sandbox/placeholders.ts';
import { appendEvent, recordNotice } from '../../state/event-stream.ts';
import { type EvidenceOf, isWhole } from '../../state/evidence/evidence.ts';
import { beginEvidence } from '../../state/evidence/store-evidence.ts';
import { findLiveContract, type LoopFiles, orLogged } from '../../state/loop-files.ts';
import { type Examined, type ExamineOptions, examine } from '../../state/snapshot/examine.ts';
import { finishRestore, type Restored, restoreFiles } from '../../state/snapshot/restore.ts';
import type { FileChange } from '../../state/snapshot/snapshot.ts';
import {
  adoptRunningBuild,
  adoptVersions,
  provedSnapshot,
  readSnapshot,
  storeLook,
  storeSnapshot,
  takeSnapshot,
  withSnapshotLock,
} from '../../state/snapshot/snapshot.ts';
import { changesOfUnchanged, readUnchanged, storeUnchanged } from '../../state/snapshot/unchanged-files.ts';
import { isSameVersion, versionAt } from '../../state/snapshot/version.ts';
import type { Message } from '../../text/message.ts';
import { mayHaveChanged } from './agent-busy.ts';
import { changeList, type Found, PROTECTION_TEXTS, shownPath } from './messages.ts';
import type { DriverContext } from './ownership.ts';
import { sameSettings, unchangedSet, watchOf } from './protection.ts';

/**
 * Takes the snapshot of what the contract protects. Files under `unchanged` are compared with the start, across resumes
 * (`former` is the contract of a resumed loop), until the user accepts other versions. Returns a warning if some files could
 * not be restored from the snapshot.
 */
export function storeProtected(
  files: LoopFiles,
  contract: Contract,
  env: NodeJS.ProcessEnv,
  former: EvidenceOf | null = null,
): string | null {
  const watch = watchOf(files, contract, env);
  const { loopId, unchanged = [] } = contract;
  beginEvidence(files, loopId);
  const bounds = withSnapshotLock(files, () => {
    if (former === null || !hasBaseline(files, former, unchanged))
      storeUnchanged(files, loopId, unchanged, unchangedSet(files, contract, env));
    return takeSnapshot(files, loopId, watch, placeholdersOf(files, contract));
  });
  if (bounds === null) return null;
  return bounds.unwatched ? PROTECTION_TEXTS.notWatched : PROTECTION_TEXTS.notKept(bounds.unkept);
}

/** Returns whether a resumed loop keeps its record of unchanged files. Replacing a lost one is named in every report. */
function hasBaseline(files: LoopFiles, former: EvidenceOf, unchanged: readonly string[]): boolean {
  return isWhole(files, former, 'unchanged') && readUnchanged(files, former, unchanged) !== null;
}

const placeholdersOf = (files: LoopFiles, { sandbox }: Contract): ReadonlySet<string> | undefined =>
  sandbox && placeholderPaths(files);

interface Moment {
  readonly env: NodeJS.ProcessEnv;
  /** ISO-8601 UTC. */
  readonly at: string;
  /** True if no hook has recorded the agent's calls, so that any of them may have changed a file. */
  readonly isUnseen?: boolean;
}

/** Restores what the agent of a former process changed in its last call, before a resumed loop takes a new snapshot. */
export function restoreBeforeResume(
  files: LoopFiles,
  state: LoopState,
  contract: Contract,
  { env, at, isUnseen = false }: Moment,
): ProtectionReport | null {
  const mayBeAgents = isUnseen ? () => true : mayHaveChanged(files, state);
  const context = { files, env, now: () => at };
  return restoreProtected(context, { state, contract, found: { when: 'turn' }, depth: 'all', mayBeAgents });
}

/**
 * Restores what an agent changed in a turn that has no end of its own, because client or loop ended in the middle of it.
 * Called before the loop is archived, which drops the snapshot. Returns the texts for the user. Never throws.
 */
export function restoreMidTurn(files: LoopFiles, state: LoopState, moment: Moment): ProtectionReport['toUser'] {
  const contract = findLiveContract(files, state.loopId)?.contract;
  if (contract === undefined) return [];
  const found = orLogged(files, moment.at, 'protection', () => restoreBeforeResume(files, state, contract, moment));
  return found?.toUser ?? [];
}

/** Lists the changes of protected and unchanged files that `accept` would adopt, one line each. Changes nothing. */
export function protectedChanges(files: LoopFiles, contract: Contract, env: NodeJS.ProcessEnv): string[] {
  const { protect } = watchOf(files, contract, env);
  const { unchanged = [] } = contract;
  const recorded = readUnchanged(files, contract, unchanged);
  const fixed = recorded === null ? [] : changesOfUnchanged(files, recorded, unchangedSet(files, contract, env));
  const found = withSnapshotLock(files, () => {
    const snapshot = readSnapshot(files, contract);
    if (snapshot === null) return null;
    const isSame = sameSettings(files, contract, snapshot.own);
    const { changes } = examine(files, snapshot, { protect, depth: 'all', isSame });
    return [...snapshot.left, ...changes];
  });
  const lines = (what: string, changes: readonly FileChange[]): string[] =>
    changes.map(({ path, was }) => `${what} ${shownPath(path, files.projectDir)}: ${was}`);
  return [...new Set([...lines('protected file', found ?? []), ...lines('unchanged file', fixed)])];
}

export type ProtectionContext = Pick<DriverContext, 'files' | 'env' | 'now'>;

export interface ProtectionRequest {
  readonly state: Pick<LoopState, 'loopId' | 'iteration' | 'name' | 'mode'>;
  readonly contract: Contract;
  readonly found: Found;
  readonly depth: ExamineOptions['depth'];
  /** Returns whether a call or check of this loop may have changed a file. Any other change is kept, reported and adopted. */
  readonly mayBeAgents: (path: string) => boolean;
}

/** Actions taken on changed files, for the user and the agent. */
export interface ProtectionReport {
  readonly id: string;
  readonly toUser: readonly (Message | string)[];
  readonly toAgent: string | null;
  /** Protected files that differ from the start and could not be restored. */
  readonly unrestored: readonly FileChange[];
}

interface Cause {
  readonly found: Found;
  readonly iteration: number;
}

/**
 * Restores protected files that differ from the snapshot, or adopts the user's own changes. First completes what a killed
 * process began. Returns null if nothing differs. Each restored file is in the archive, the journal and the notices.
 */
export function restoreProtected(context: ProtectionContext, request: ProtectionRequest): ProtectionReport | null {
  const { files, env, now } = context;
  const { state, contract, found, depth, mayBeAgents } = request;
  return withSnapshotLock(files, () => {
    const proved = provedSnapshot(files, contract);
    if (proved === null) return null;
    const watch = watchOf(files, contract, env);
    const { protect, isOutside, isKept } = watch;
    const done: Restored<Cause>[] = [];
    const record = (restored: Restored<Cause>): void => {
      recordRestored(files, state, restored);
      done.push(restored);
    };
    finishRestore<Cause>(files, proved, { isOutside, record });
    const before = adoptRunningBuild(files, proved, watch);
    const isSame = sameSettings(files, contract, before.own);
    const placeholders = placeholdersOf(files, contract);
    const examined = examine(files, before, { protect, depth, isSame, ...(placeholders && { placeholders }) });
    const outside = examined.changes.filter(({ path }) => isOutside(path));
    const changes = examined.changes.filter((change) => !outside.includes(change));
    const failed = (before.failed ?? []).filter((path) => !isOutside(path) && !isRepaired(examined, path));
    const users = changes.filter(({ path }) => !failed.includes(path) && !mayBeAgents(path));
    const agents = changes.filter((change) => !users.includes(change));
    const adopted = [...examined.same, ...[...outside, ...users].map(({ path }) => path)];
    const snapshot =
      adopted.length === 0 ? examined.snapshot : adoptVersions(files, examined.snapshot, adopted, users, isKept);
    if (agents.length > 0) {
      const cause: Cause = { found, iteration: state.iteration };
      restoreFiles(files, snapshot, agents, { at: now(), cause, isOutside, record });
      const hasCopy = (path: string): boolean => snapshot.files[path]?.offset !== null;
      const still = done.flatMap((each) => each.failed.map(({ path }) => path)).filter(hasCopy);
      const others = failed.filter((path) => !agents.some((change) => change.path === path));
      if ((before.failed?.length ?? 0) + still.length > 0)
        storeSnapshot(files, { ...snapshot, failed: [...others, ...still] });
    } else if (failed.length < (before.failed?.length ?? 0)) storeSnapshot(files, { ...snapshot, failed });
    storeLook(files, snapshot);
    const left = [
      { kind: 'left', changes: users, text: PROTECTION_TEXTS.leftAlone },
      { kind: 'outside', changes: outside, text: (list: string) => PROTECTION_TEXTS.outside(list, found) },
    ].filter((each) => each.changes.length > 0);
    for (const { kind, changes: kept, text } of left) {
      const at = now();
      const message = text(changeList(kept, files.projectDir));
      recordNotice(files, state, { at, kind: 'change', text: message, key: `${kind} ${at}` });
    }
    return reportOf(files, now(), done, { users, outside, found });
  });
}

/** Returns whether a file that could not be restored matches the snapshot again, for example because the user repaired it. */
function isRepaired({ changes, snapshot }: Examined, path: string): boolean {
  const base = snapshot.files[path] ?? null;
  return !changes.some((change) => change.path === path) && isSameVersion(base, versionAt(path, undefined, base));
}

/** Records a restore as a notice, and as a refused call for the circuit breaker. */
function recordRestored(
  files: LoopFiles,
  { loopId }: ProtectionRequest['state'],
  { intent, restored, failed }: Restored<Cause>,
): void {
  const { id, archive, cause } = intent;
  const loop = { loopId, iteration: cause.iteration };
  const { found } = cause;
  const place = shownPath(archive, files.projectDir);
  for (const { what, changes, text } of outcomesOf(files, { intent, restored, failed })) {
    const details = { found, archive: place, files: changes.map(({ path, was }) => ({ path, was })) };
    const kind = what === 'restored' ? 'restore' : 'change';
    recordNotice(files, loop, { at: id, kind, text, key: `${what} ${id}`, details });
  }
  const { tool, callId } = found.when === 'call' ? found : { tool: found.when, callId: `restored ${id}` };
  const call = { type: 'tool.denied', at: id, ...loop, tool, callId, rule: 'protected_files: put back' };
  // The notice is stored, which matters more than the count.
  orLogged(files, id, 'calls', () => appendEvent(files, call));
}

/** Returns what was restored and what could not be, each with its text for the user. */
function outcomesOf({ projectDir }: LoopFiles, { intent: { archive, cause }, restored, failed }: Restored<Cause>) {
  const list = (changes: readonly FileChange[]): string => changeList(changes, projectDir);
  const place = shownPath(archive, projectDir);
  return [
    { what: 'restored', changes: restored, text: PROTECTION_TEXTS.restored(list(restored), cause.found, place) },
    { what: 'failed', changes: failed, text: PROTECTION_TEXTS.failed(list(failed), cause.found) },
  ].filter(({ changes }) => changes.length > 0);
}

function reportOf(
  files: LoopFiles,
  at: string,
  done: readonly Restored<Cause>[],
  left: { readonly users: readonly FileChange[]; readonly outside: readonly FileChange[]; readonly found: Found },
): ProtectionReport | null {
  const { users, outside, found } = left;
  if (done.length === 0 && users.length === 0 && outside.length === 0) return null;
  const list = (changes: readonly FileChange[]): string => changeList(changes, files.projectDir);
  const restored = done.flatMap((each) => each.restored);
  const failed = done.flatMap((each) => each.failed);
  const toAgent = [
    ...(restored.length === 0 ? [] : [PROTECTION_TEXTS.toAgent(list(restored))]),
    ...(failed.length === 0 ? [] : [PROTECTION_TEXTS.toAgentFailed(list(failed))]),
  ];
  return {
    id: at,
    toUser: [
      ...done.flatMap((each) => outcomesOf(files, each).map(({ text }) => text)),
      ...(users.length === 0 ? [] : [PROTECTION_TEXTS.usersChange(list(users))]),
      ...(outside.length === 0 ? [] : [PROTECTION_TEXTS.outside(list(outside), found)]),
    ],
    toAgent: toAgent.length === 0 ? null : toAgent.join('\n'),
    unrestored: failed,
  };
}
