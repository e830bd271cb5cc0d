import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import shapes from '../../.build/tdd-shapes.json' with { type: 'json' };
import { TDD_VERSION } from '../engine/schema/constants.ts';
import type { TddRecord, TddState } from '../engine/schema/tdd.ts';
import { agreement, publishedState, withOthersKeys } from '../engine/tdd/published-state.ts';
import { RalphError } from '../text/ralph-error.ts';
import { checkShape, isTooDeep, type Shape } from './check-shape.ts';
import { regularFile } from './files/read-regular-file.ts';
import { syncDirectory, writeAtomically } from './files/write-atomically.ts';
import { withLock } from './lock/lock.ts';
import type { LoopFiles } from './loop-files.ts';
import { makeRuntimeDir } from './loop-files.ts';

/** Where a TDD list lies: one for each loop of a project, as its state. */
export interface TddFiles {
  /** `tdd-state.json` in the project, for every reader. */
  readonly state: string;
  readonly lock: string;
  /** Where a state goes that is not what was proved; nothing is deleted. */
  readonly asideDir: string;
  /** What was proved, outside the project. */
  readonly record: string;
}

export function tddFiles({ name, runtimeDir, outsideDir }: LoopFiles): TddFiles {
  const own = name === null ? '' : `.${name}`;
  const state = join(runtimeDir, `tdd-state${own}.json`);
  return {
    state,
    lock: `${state}.lock`,
    asideDir: join(runtimeDir, `tdd-archive${own}`),
    record: join(outsideDir, `ralph-tdd${own}.json`),
  };
}

export type FoundTdd =
  /** There is no list. `left` is what lies in the place of its state, put there by somebody else. */
  | { readonly kind: 'none'; readonly left: LeftState }
  | {
      readonly kind: 'list';
      readonly record: TddRecord;
      /** What was mended in the project's state, for the user and the agent. */
      readonly notes: readonly string[];
    };

export type LeftState =
  | { readonly kind: 'absent' | 'empty' }
  | { readonly kind: 'unusable'; readonly problem: string }
  | { readonly kind: 'state'; readonly state: TddState };

export interface TddChange<T> {
  readonly next: TddRecord | 'keep';
  readonly result: T;
}

/** A list of 500 scenarios with full outputs has some 30 MB, twice that where few of the characters are ASCII. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Read-modify-write of a TDD list under its own lock: the only way to change it. The record outside the project is
 * what counts and is written first; the state in the project is made anew from it, so that whatever a crash or somebody's
 * hand left there is mended by the next caller: what differs is moved aside, whole, and told in `notes`. `decide` must
 * be quick and must not wait. Throws RalphError: `state-newer` for a file of a newer program, `contract-changed` for a
 * record that cannot be read; then nothing was changed.
 */
export function withTdd<T>(files: LoopFiles, at: string, decide: (found: FoundTdd) => TddChange<T>): T {
  const paths = tddFiles(files);
  if (!existsSync(files.runtimeDir)) {
    // Where nothing was ever begun, nothing is made by those who only ask.
    const asked = existsSync(paths.record) ? null : decide({ kind: 'none', left: { kind: 'absent' } });
    if (asked?.next === 'keep') return asked.result;
    makeRuntimeDir(files);
  }
  return withLock(paths.lock, { waitMs: 10_000 }, (assertHeld) => {
    const record = readRecord(paths);
    const left = readLeft(paths);
    if (record === null) {
      const { next, result } = decide({ kind: 'none', left });
      if (next === 'keep') return result;
      assertHeld();
      // What is moved aside before there is a record would be lost to the next caller if this one died in between.
      write(files, paths, next, null, () => {
        if (left.kind !== 'absent') moveAside(paths, at, 'before');
      });
      return result;
    }
    const mended = mend(paths, record, left, at);
    const { next, result } = decide({ kind: 'list', record, notes: mended.notes });
    assertHeld();
    if (next !== 'keep' || mended.write) write(files, paths, next === 'keep' ? record : next, mended.others);
    return result;
  });
}

/**
 * The record as it stands, without a lock and without a look at the project; null where there is none. Throws RalphError
 * as `withTdd` for one that cannot be read.
 */
export function provedTdd(files: LoopFiles): TddRecord | null {
  return readRecord(tddFiles(files));
}

/** The same, null also where it cannot be read. Never throws. */
export function peekTdd(files: LoopFiles): TddRecord | null {
  try {
    return provedTdd(files);
  } catch {
    return null;
  }
}

function readRecord({ record: path }: TddFiles): TddRecord | null {
  const value = readJson(path);
  if (value.kind === 'absent') return null;
  const unreadable = (why: string): RalphError =>
    new RalphError(
      'contract-changed',
      `the record of the TDD list, ${path}, cannot be read (${why}) and was left as it is. Put it back, or move it away and make the list anew: ralph-loop tdd init.`,
    );
  if (value.kind === 'empty') throw unreadable('it is empty');
  if (value.kind === 'unusable') throw unreadable(value.problem);
  refuseNewer(path, (value.value as { recordVersion?: unknown } | null)?.recordVersion);
  const problem = checkShape(value.value, shapes.record as Shape);
  if (problem !== null) throw unreadable(problem);
  return value.value as TddRecord;
}

function readLeft({ state: path }: TddFiles): LeftState {
  const found = readJson(path);
  if (found.kind !== 'value') return found;
  refuseNewer(path, (found.value as { schemaVersion?: unknown } | null)?.schemaVersion);
  const problem = checkShape(found.value, shapes.state as Shape);
  return problem === null ? { kind: 'state', state: found.value as TddState } : { kind: 'unusable', problem };
}

function refuseNewer(path: string, version: unknown): void {
  if (typeof version !== 'number' || version <= TDD_VERSION) return;
  throw new RalphError(
    'state-newer',
    `${path} belongs to a newer ralph-loop (version ${version}; this one knows ${TDD_VERSION}) and was left as it is. Update ralph-loop.`,
  );
}

type Json =
  | { readonly kind: 'absent' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'unusable'; readonly problem: string }
  | { readonly kind: 'value'; readonly value: unknown };

function readJson(path: string): Json {
  let text: string;
  try {
    const { size } = statSync(regularFile(path));
    if (size > MAX_BYTES) return { kind: 'unusable', problem: `it has ${size} bytes` };
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? { kind: 'absent' } : { kind: 'unusable', problem: code ?? 'it is no regular file' };
  }
  if (text.trim() === '') return { kind: 'empty' };
  try {
    const value: unknown = JSON.parse(text);
    return isTooDeep(value) ? { kind: 'unusable', problem: 'it is nested too deeply' } : { kind: 'value', value };
  } catch (error) {
    return { kind: 'unusable', problem: (error as Error).message };
  }
}

interface Mended {
  readonly write: boolean;
  readonly notes: readonly string[];
  /** Whose keys that are none of ours are kept. */
  readonly others: TddState | null;
}

/** What lies in the project against what was proved. Moves aside what was not; the caller writes. */
function mend(paths: TddFiles, record: TddRecord, left: LeftState, at: string): Mended {
  const put = (why: string): Mended => ({
    write: true,
    notes: [`${paths.state} ${why}; it is as it was proved again.`],
    others: left.kind === 'state' ? left.state : null,
  });
  switch (left.kind) {
    case 'absent':
      return put('was gone');
    case 'empty':
      return put('was empty');
    case 'unusable':
      return put(`could not be used (${left.problem}) and lies in ${moveAside(paths, at, 'corrupt')}`);
    case 'state':
      break;
    default:
      return left satisfies never;
  }
  const { state } = left;
  const agreed = agreement(state, record);
  if (agreed === 'tampered') {
    return put(`said what was never proved, was moved to ${moveAside(paths, at, 'tampered')}, and counts for nothing`);
  }
  return { write: agreed === 'behind', notes: [], others: state };
}

function write(
  files: LoopFiles,
  paths: TddFiles,
  record: TddRecord,
  others: TddState | null,
  inBetween = (): void => {},
): void {
  const recordText = `${JSON.stringify(record)}\n`;
  const stateText = `${JSON.stringify(withOthersKeys(publishedState(record), others), null, 2)}\n`;
  for (const [path, text] of [
    [paths.record, recordText],
    [paths.state, stateText],
  ] as const) {
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_BYTES) throw new RalphError('refused', tooLong(path, bytes));
  }
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  writeAtomically(paths.record, recordText, 0o600);
  inBetween();
  writeAtomically(paths.state, stateText);
}

/** What nobody could read again is not written. */
function tooLong(path: string, bytes: number): string {
  return `${path} would have ${bytes} bytes, and at most ${MAX_BYTES} can be read again: nothing was recorded. Make a list of the scenarios that are left: ralph-loop tdd init --fresh --input FILE.`;
}

/** Moves what lies in the state's place aside, whole, and gives back where it went. Called under the lock. */
function moveAside(paths: TddFiles, at: string, label: 'before' | 'corrupt' | 'tampered'): string {
  const path = freePath(paths, at, label);
  renameSync(paths.state, path);
  syncDirectory(paths.asideDir);
  return path;
}

/**
 * Keeps the record of a list that is given up beside the states that were moved aside, less the environment of whoever
 * agreed to it, which is nobody else's. Called under the lock.
 */
export function keepOldRecord(files: LoopFiles, at: string, record: TddRecord): void {
  const kept = `${JSON.stringify({ ...record, environment: {} }, null, 2)}\n`;
  writeAtomically(freePath(tddFiles(files), at, 'list'), kept);
}

function freePath({ asideDir }: TddFiles, at: string, label: string): string {
  mkdirSync(asideDir, { recursive: true });
  for (let copy = 1; ; copy++) {
    const path = join(asideDir, `${at.replaceAll(':', '-')}-${label}${copy === 1 ? '' : `.${copy}`}.json`);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return path;
  }
}
