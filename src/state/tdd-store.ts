import { existsSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import shapes from '../../.build/tdd-shapes.json' with { type: 'json' };
import { TDD_VERSION } from '../engine/schema/constants.ts';
import type { Contract } from '../engine/schema/contract.ts';
import type { TddRecord, TddState } from '../engine/schema/tdd.ts';
import { standingOf } from '../engine/tdd/phases.ts';
import { advise, type Message, nullIfRefused, RalphError } from '../text/message.ts';
import { checkShape, isTooDeep } from './check-shape.ts';
import { type EvidenceOf, readEvidence } from './evidence/evidence.ts';
import { storeEvidence } from './evidence/store-evidence.ts';
import { freePath, regularFile, syncDirectory, writeAtomically } from './files/regular-file.ts';
import { withLock } from './lock/lock.ts';
import { findContract, type LoopFiles, makeRuntimeDir } from './loop-files.ts';

type TddFiles = Readonly<ReturnType<typeof tddFiles>>;

export function tddFiles({ name, runtimeDir, scenarios }: LoopFiles) {
  const own = name === null ? '' : `.${name}`;
  const state = join(runtimeDir, `tdd-state${own}.json`);
  return {
    /** State `tdd-state.json` in the project, for all readers. */
    state,
    lock: `${state}.lock`,
    /** Destination of states that were not proved. */
    asideDir: join(runtimeDir, `tdd-archive${own}`),
    /** Authoritative list, outside the project. */
    record: scenarios,
  };
}

export type FoundTdd =
  /** There is no list. `left`: what the project has instead of a state of ours. */
  | { readonly kind: 'none'; readonly left: LeftState }
  | {
      readonly kind: 'list';
      readonly record: TddRecord;
      /** Repairs of the project's state, for the user and the agent. */
      readonly notes: readonly string[];
    };

type LeftState =
  | { readonly kind: 'absent' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'unusable'; readonly problem: string }
  | { readonly kind: 'state'; readonly state: TddState };

/** Size limit: a list of 500 scenarios with full outputs has about 30 MB, or twice that if few characters are ASCII. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Changes a TDD list under its own lock. The record outside the project is authoritative and written first; the state in the
 * project is derived from it, so the next call repairs the effects of a crash or an edit: a deviating state is moved aside
 * and reported in `notes`. `decide` must not wait. Throws, without changing anything, `state-newer` for a file of a newer
 * program, `contract-changed` for an unreadable record, and `evidence-lost` for a record that differs from what the live loop
 * stored, unless `believe` accepts it as it is, as for a resume.
 */
export function withTdd<T>(
  files: LoopFiles,
  at: string,
  decide: (found: FoundTdd) => { readonly next: TddRecord | 'keep'; readonly result: T },
  believe: 'proved' | 'as it is' = 'proved',
): T {
  const paths = tddFiles(files);
  if (!existsSync(files.runtimeDir)) {
    // A query creates nothing.
    const asked = existsSync(files.scenarios) ? null : decide({ kind: 'none', left: { kind: 'absent' } });
    if (asked?.next === 'keep') return asked.result;
    makeRuntimeDir(files);
  }
  return withLock(paths.lock, (assertHeld) => {
    const record = believe === 'proved' ? provedTdd(files) : unprovedTdd(files);
    const left = readLeft(paths);
    if (record === null) {
      const { next, result } = decide({ kind: 'none', left });
      if (next === 'keep') return result;
      assertHeld();
      // Moved only once the record is written: a crash before that would lose the state.
      write(files, paths, next, null, () => {
        if (left.kind !== 'absent') moveAside(paths, at, 'before');
      });
      return result;
    }
    const repair = repairState(paths, record, left, at);
    const { next, result } = decide({ kind: 'list', record, notes: repair.notes });
    assertHeld();
    if (next !== 'keep' || repair.write) write(files, paths, next === 'keep' ? record : next, repair.others);
    return result;
  });
}

function provedTdd(files: LoopFiles): TddRecord | null {
  const contract = liveOwner(files);
  if (contract !== null) readEvidence(files, contract, 'scenarios');
  return unprovedTdd(files);
}

/** Returns the contract of the live loop to whose evidence the record belongs; null if there is none. */
function liveOwner(files: LoopFiles): EvidenceOf | null {
  const found = findContract(files);
  return typeof found !== 'string' && found.contract.evidence['scenarios'] !== undefined ? found.contract : null;
}

/** Reads the record for display, unproved; null also if it is unreadable. */
export function peekTdd(files: LoopFiles): TddRecord | null {
  return nullIfRefused(() => unprovedTdd(files));
}

/** Reads the record without proving it; null if there is none. Throws `contract-changed` or `state-newer`. */
export function unprovedTdd({ scenarios: path }: LoopFiles): TddRecord | null {
  const value = readJson(path);
  if (value.kind === 'absent') return null;
  const unreadable = (why: string): RalphError => {
    const text = `the record of the TDD list, ${path}, cannot be read (${why}) and was left unchanged. Restore it.`;
    return new RalphError('contract-changed', advise(text, 'Or move it away and create the list again', 'tdd init'));
  };
  if (value.kind === 'empty') throw unreadable('it is empty');
  if (value.kind === 'unusable') throw unreadable(value.problem);
  refuseNewer(path, (value.value as { recordVersion?: unknown } | null)?.recordVersion);
  const problem = checkShape(value.value, shapes.record);
  if (problem !== null) throw unreadable(problem);
  return value.value as TddRecord;
}

function readLeft({ state: path }: TddFiles): LeftState {
  const found = readJson(path);
  if (found.kind !== 'value') return found;
  refuseNewer(path, (found.value as { schemaVersion?: unknown } | null)?.schemaVersion);
  const problem = checkShape(found.value, shapes.state);
  return problem === null ? { kind: 'state', state: found.value as TddState } : { kind: 'unusable', problem };
}

function refuseNewer(path: string, version: unknown): void {
  if (typeof version !== 'number' || version <= TDD_VERSION) return;
  const message = `${path} belongs to a newer ralph-loop (version ${version}; this one knows ${TDD_VERSION}) and was left as it is. Update ralph-loop.`;
  throw new RalphError('state-newer', message);
}

type Json = Exclude<LeftState, { kind: 'state' }> | { readonly kind: 'value'; readonly value: unknown };

function readJson(path: string): Json {
  let text: string;
  try {
    const { size } = statSync(regularFile(path));
    if (size > MAX_BYTES) return { kind: 'unusable', problem: `it has ${size} bytes` };
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? { kind: 'absent' } : { kind: 'unusable', problem: code ?? 'it is not a regular file' };
  }
  if (text.trim() === '') return { kind: 'empty' };
  try {
    const value: unknown = JSON.parse(text);
    return isTooDeep(value) ? { kind: 'unusable', problem: 'it is nested too deeply' } : { kind: 'value', value };
  } catch (error) {
    return { kind: 'unusable', problem: (error as Error).message };
  }
}

/** Compares the state in the project with the record, and moves it aside if unproved. The caller writes. */
function repairState(paths: TddFiles, record: TddRecord, left: LeftState, at: string) {
  const put = (why: string) => ({
    write: true,
    notes: [`${paths.state} ${why}; it was restored from the proofs.`],
    /** State whose unknown keys are kept. */
    others: left.kind === 'state' ? left.state : null,
  });
  switch (left.kind) {
    case 'absent':
      return put('was missing');
    case 'empty':
      return put('was empty');
    case 'unusable':
      return put(`could not be used (${left.problem}) and was moved to ${moveAside(paths, at, 'corrupt')}`);
    case 'state': {
      const agreed = agreement(left.state, record);
      if (agreed !== 'tampered') return { write: agreed === 'behind', notes: [], others: left.state };
      const aside = moveAside(paths, at, 'tampered');
      return put(`claimed proofs that do not exist, so it was moved to ${aside} and ignored`);
    }
    default:
      return left satisfies never;
  }
}

function write(files: LoopFiles, paths: TddFiles, record: TddRecord, others: TddState | null, between?: () => void) {
  const recordText = `${JSON.stringify(record)}\n`;
  const stateText = `${JSON.stringify(withOthersKeys(publishedState(record), others), null, 2)}\n`;
  for (const [path, text] of Object.entries({ [paths.record]: recordText, [paths.state]: stateText })) {
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_BYTES) throw new RalphError('refused', tooLong(path, bytes));
  }
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  const loopId = record.loopId ?? liveOwner(files)?.loopId ?? null;
  if (loopId === null) writeAtomically(paths.record, recordText, 0o600);
  else storeEvidence(files, loopId, 'scenarios', recordText);
  between?.();
  writeAtomically(paths.state, stateText);
}

function tooLong(path: string, bytes: number): Message {
  const text = `${path} would have ${bytes} bytes, and at most ${MAX_BYTES} can be read again: nothing was recorded.`;
  return advise(text, 'Create a list of the remaining scenarios', 'tdd init', { fresh: true, input: 'FILE' });
}

function moveAside(paths: TddFiles, at: string, label: 'before' | 'corrupt' | 'tampered'): string {
  const path = asidePath(paths, at, label);
  renameSync(paths.state, path);
  syncDirectory(paths.asideDir);
  return path;
}

/** Archives the record of an abandoned list, without the user's environment variables. The caller holds the lock. */
export function keepOldRecord(files: LoopFiles, at: string, record: TddRecord): void {
  const kept = `${JSON.stringify({ ...record, environment: {} }, null, 2)}\n`;
  writeAtomically(asidePath(tddFiles(files), at, 'list'), kept);
}

function asidePath({ asideDir }: TddFiles, at: string, label: string): string {
  mkdirSync(asideDir, { recursive: true });
  return freePath(join(asideDir, `${at.replaceAll(':', '-')}-${label}`), '.json');
}

/** Returns the commands that the user named as checks of this loop: validation, evidence and scenarios. */
export function checkCommands(files: LoopFiles, { validation, task, tdd }: Contract): string[] {
  const scenarios = tdd === undefined ? [] : (peekTdd(files)?.scenarios ?? []);
  return [...new Set([...(task?.commands ?? []), ...validation, ...scenarios].map(({ run }) => run.trim()))];
}

export function publishedState(record: TddRecord): TddState {
  return {
    schemaVersion: TDD_VERSION,
    scenarios: record.scenarios.map(({ id, description }) => ({ id, description, status: standingOf(record, id) })),
    completedScenarios: record.completed,
    currentScenario: record.current,
    evidenceLog: record.log,
  };
}

/** Relation between the file in the project and the record. */
type Agreement =
  | 'same'
  /** Earlier state of the same list: its writer died between writing the two files. */
  | 'behind'
  /** It claims something that was never proved, or lacks or changes a proof. */
  | 'tampered';

export function agreement(found: TddState, record: TddRecord): Agreement {
  const completed = record.completed.slice(0, found.completedScenarios.length);
  const log = record.log.slice(0, found.evidenceLog.length);
  const then = publishedState({ ...record, current: found.currentScenario, completed, log });
  if (!agrees(found, then)) return 'tampered';
  return agrees(found, publishedState(record)) ? 'same' : 'behind';
}

/** Returns the published state with the foreign keys of `found`: at the top and in each scenario and entry. */
export function withOthersKeys(state: TddState, found: TddState | null): TddState {
  return found === null ? state : (merged(state, found) as TddState);
}

/** Returns whether `found` has every key of `own` with the same value; other keys belong to their owner. */
function agrees(found: unknown, own: unknown): boolean {
  if (Array.isArray(own))
    return Array.isArray(found) && found.length === own.length && own.every((item, at) => agrees(found[at], item));
  if (typeof own !== 'object' || own === null) return found === own;
  return Object.entries(own).every(([key, value]) => agrees((found as Record<string, unknown>)[key], value));
}

function merged(own: unknown, found: unknown): unknown {
  if (Array.isArray(own)) {
    const others = Array.isArray(found) ? found : [];
    return own.map((item, at) => merged(item, isSameItem(item, others[at]) ? others[at] : undefined));
  }
  if (typeof own !== 'object' || own === null) return own;
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return own;
  const known = Object.entries(own).map(([key, value]) => [
    key,
    merged(value, (found as Record<string, unknown>)[key]),
  ]);
  return { ...found, ...Object.fromEntries(known) };
}

/** Returns whether two items correspond: scenarios by id, log entries by scenario and phase. */
function isSameItem(own: unknown, found: unknown): boolean {
  if (typeof own !== 'object' || own === null || typeof found !== 'object' || found === null) return false;
  return ['id', 'scenarioId', 'phase'].every(
    (key) => (own as Record<string, unknown>)[key] === (found as Record<string, unknown>)[key],
  );
}
