import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, statSync } from 'node:fs';
import { basename, isAbsolute, join, resolve, sep } from 'node:path';
import shapes from '../../.build/contract-shapes.json' with { type: 'json' };
import schemas from '../../.build/state-shapes.json' with { type: 'json' };
import type { ShownNotice } from '../engine/end-report.ts';
import { SCHEMA_VERSION } from '../engine/schema/constants.ts';
import type { StoredContract } from '../engine/schema/contract.ts';
import type { LoopNotice } from '../engine/schema/records.ts';
import type { Counters, FourKeyState, LoopState } from '../engine/schema/state.ts';
import { digest } from '../text/digest.ts';
import { jsonOrNull } from '../text/json.ts';
import { advise, RalphError } from '../text/message.ts';
import { checkShape, isTooDeep } from './check-shape.ts';
import { appendLine, readLines } from './files/journal-lines.ts';
import { ifOutOfReach, namesIn, readRegularFile, regularFile, writeAtomically } from './files/regular-file.ts';
import { findOutsideRoot, homeFolder } from './home-folder.ts';

export type LoopFiles = Readonly<ReturnType<typeof loopFiles>>;

/** File that names the project, in the project's folder outside it. */
export const PROJECT_FILE = 'project.json';

/** Records the path of the project in its outside folder, for commands that list all projects. */
export function nameProject({ projectDir, outsideDir }: Pick<LoopFiles, 'projectDir' | 'outsideDir'>): void {
  const path = join(outsideDir, PROJECT_FILE);
  if (!existsSync(path)) writeAtomically(path, `${JSON.stringify({ projectDir })}\n`, 0o600);
}

export const LOOP_NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/;

/** Returns the files of the default loop (`name` null) or of the loop `name` (a LOOP_NAME). No two loops share one. */
export function loopFiles(projectDir: string, name: string | null, env: NodeJS.ProcessEnv) {
  const root = resolve(projectDir);
  const runtimeDir = [root, '.claude', 'context', 'runtime'].join(sep);
  const outsideDir = projectOutsideDir(root, env);
  const own = name === null ? '' : `.${name}`;
  const inside = `${runtimeDir}${sep}ralph-`;
  const outside = `${outsideDir}${sep}`;
  return {
    projectDir: root,
    name,
    /** `.claude/context/runtime` of the project. */
    runtimeDir,
    state: `${inside}state${own}.json`,
    lock: `${inside}state${own}.json.lock`,
    archiveDir: `${inside}archive${own}`,
    /** Records of the project's ended runs over several tasks. */
    runsDir: `${inside}runs`,
    /** Event stream: decisions of the loop, and the activity of its agents, their tools and the checks. */
    events: `${inside}events${own}.jsonl`,
    /** Last prompt of a task without a folder, to which the agent is pointed. */
    prompt: `${inside}prompt${own}.md`,
    /** Proof of the last complete loop, for others, if its task has no loop directory. */
    proof: `${inside}proof${own}.json`,
    /** Last cost figure that the client passed to the status line. */
    cost: `${inside}cost${own}.json`,
    /** Cancellation marker for the next tool call and the next Stop. */
    cancellation: `${outside}cancelled${own}.json`,
    /** Folder outside the project, out of reach of an agent confined to the project. */
    outsideDir,
    contract: `${outside}contract${own}.json`,
    /** Mark beside a contract without private files: a runner's hooks then start no guard for READERS. */
    freeReads: `${outside}free-reads${own}`,
    /** Counts that only rise. */
    counters: `${outside}counters${own}.json`,
    /** Digests of the loop's evidence: of everything outside the project on which a verdict, a limit or a protection rests. */
    evidence: `${outside}evidence${own}.json`,
    /** Digests of the project's records of a parallel run and of worktrees. */
    records: `${outside}records.json`,
    /** Parallel run that has not ended. */
    batch: `${outside}parallel.json`,
    /** Prefix of the files that hold the snapshot of protected files. */
    snapshot: `${outside}snapshot${own}`,
    /** Folder of the clean copies on which checks run: a sandbox hides the state folder. */
    copies: `${cacheRoot(env)}${sep}checks${sep}${basename(outsideDir)}${own}`,
    /** Paths where the client's sandbox may leave an empty file. */
    placeholders: `${outside}placeholders${own}.json`,
    /** State of the repository at the start. */
    startPoint: `${outside}contract${own}.json.start-point`,
    startFiles: `${outside}contract${own}.json.start-files`,
    /** Output of the task's commands at the start, for the first prompt. */
    startEvidence: `${outside}contract${own}.json.start-evidence`,
    report: `${outside}contract${own}.json.report`,
    /** Facts about the iteration when its prompt was made, for the process that decides how it ended. */
    promptedTurn: `${outside}turn${own}.json`,
    spawn: `${outside}router${own}.json`,
    /** A runner's journal entries that the state may not count yet. */
    outbox: `${outside}runner${own}.due.json`,
    /** Request by the user in another terminal to allow a call that the runner's agent was denied. */
    allowRequest: `${outside}allow${own}.json`,
    /** Text that a runner's agent is currently writing. */
    openText: `${outside}text${own}.json`,
    /** A plan's commit in progress. */
    commitIntent: `${outside}settling${own}.json`,
    /** Progress of the export of events. */
    telemetry: `${outside}telemetry${own}.json`,
    /** What the loop has seen in files written by its agent. */
    seen: `${outside}seen${own}.json`,
    /** State of the `unchanged` files at the start. */
    unchanged: `${outside}unchanged${own}.json`,
    openTask: `${outside}task${own}.json`,
    /** Scenarios of test-first work with their proofs; they may exist before a loop. */
    scenarios: `${outside}ralph-tdd${own}.json`,
    /** The loop's view of its repository: settings of git at the start. */
    gitView: `${outside}git-view${own}.json`,
    /** Folder for the git folder of that view. */
    gitViews: `${outside}contract${own}.json.git`,
    /** Changes that reports of the loop name, one per line, oldest first. */
    notices: `${outside}notices${own}.jsonl`,
    log: `${outside}hook.log`,
  };
}

/** Returns the names of the loops with a state, an archive or a contract in this folder; null is the default one. */
export function loopNamesIn(runtimeDir: string): (string | null)[] {
  const names = namesIn(runtimeDir).flatMap((entry) => {
    const found = /^(?:(?:ralph-state|contract)(?:\.(.+))?\.json|ralph-archive(?:\.(.+))?)$/.exec(entry);
    const name = found?.[1] ?? found?.[2] ?? null;
    return found === null || (name !== null && !LOOP_NAME.test(name)) ? [] : [name];
  });
  return [...new Set(names)];
}

/** Returns the folder for data outside projects. Throws `state-io` for a user without a home folder. */
export function outsideRoot(env: NodeJS.ProcessEnv): string {
  return findOutsideRoot(env) ?? homeFolder(env);
}

function cacheRoot(env: NodeJS.ProcessEnv): string {
  const { XDG_CACHE_HOME: cache } = env;
  return join(cache && isAbsolute(cache) ? cache : join(homeFolder(env), '.cache'), 'ralph-loop');
}

function projectOutsideDir(projectDir: string, env: NodeJS.ProcessEnv): string {
  // The native function returns the true case on case-insensitive file systems, so that one project has one folder. If
  // it fails, reading the project reports the error.
  const real = ifOutOfReach(() => realpathSync.native(projectDir), projectDir);
  const label = basename(real).replace(/[^a-zA-Z0-9._-]/g, '_') || 'root';
  return `${outsideRoot(env)}${sep}${label}-${digest(real)}`;
}

/** Creates the folder of the runtime files, with a `.gitignore`, unless it exists. */
export function makeRuntimeDir(files: Pick<LoopFiles, 'runtimeDir'>): void {
  if (!existsSync(files.runtimeDir)) hideRuntimeDir(files);
}

/** Creates the folder if necessary, and its `.gitignore` if that is missing, so that the work tree stays clean. */
export function hideRuntimeDir({ runtimeDir }: Pick<LoopFiles, 'runtimeDir'>): void {
  mkdirSync(runtimeDir, { recursive: true });
  const ignore = join(runtimeDir, '.gitignore');
  if (!existsSync(ignore)) writeAtomically(ignore, '*\n');
}

export type ReadState =
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'loop';
      readonly state: LoopState;
      /** Warning that the file held an older state; `state` has the kept counts. Present under `withState` only. */
      readonly wentBack?: string;
    }
  /** A four-key file (see fourKeyState). */
  | { readonly kind: 'four-keys'; readonly file: FourKeyState }
  | { readonly kind: 'newer'; readonly version: number }
  | { readonly kind: 'corrupt'; readonly problem: string };

/** Size limit: a larger file is not one of our states. */
const STATE_BYTES = 16 * 1024 * 1024;

/** Reads and validates a state file. Throws the system's error for a file that cannot be opened. */
export function readState(path: string): ReadState {
  let text: string;
  try {
    text = readFileSync(regularFile(path), 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG') return { kind: 'absent' };
    if (code === undefined) return { kind: 'corrupt', problem: message };
    throw error;
  }
  return parseState(text);
}

/** Returns the state of this loop; null once it has ended, was replaced or cannot be read. */
export function readLoop(files: Pick<LoopFiles, 'state'>, loopId: string): LoopState | null {
  const current = readState(files.state);
  return current.kind === 'loop' && current.state.loopId === loopId ? current.state : null;
}

/** Validates the text of a state file. Never throws. */
export function parseState(text: string): ReadState {
  if (text.length > STATE_BYTES) return { kind: 'corrupt', problem: `it has ${text.length} characters` };
  let value: unknown;
  try {
    // Windows PowerShell begins a UTF-8 file with a byte order mark.
    value = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (error) {
    return { kind: 'corrupt', problem: (error as Error).message };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { kind: 'corrupt', problem: 'it is not a JSON object' };
  if (isTooDeep(value)) return { kind: 'corrupt', problem: 'it is nested too deeply' };
  const version = (value as { schemaVersion?: unknown }).schemaVersion;
  if (typeof version === 'number' && version > SCHEMA_VERSION) return { kind: 'newer', version };
  if (version === undefined) {
    const problem = checkShape(value, schemas.fourKeyState);
    return problem === null ? { kind: 'four-keys', file: value as FourKeyState } : { kind: 'corrupt', problem };
  }
  const problem = validateLoopState(value);
  return problem === null ? { kind: 'loop', state: value as LoopState } : { kind: 'corrupt', problem };
}

/** Returns null for a valid state, else the problem and its place. */
export function validateLoopState(value: unknown): string | null {
  return checkShape(value, schemas.commonPart) ?? checkShape(value, schemas.statusPart);
}

export type { StoredContract };

/** Reads the loop's contract, for `hashContract` to prove. `unreadable`: a hook cannot use it. Never throws. */
export function findContract(files: LoopFiles): StoredContract | 'absent' | 'unreadable' {
  return contractIn(files.contract);
}

/** Returns the contract under which this loop ended; null if unknown. Never throws. */
export function findEndedContract(files: LoopFiles, loopId: string): StoredContract | null {
  return contractIfOf(loopId, contractIn(`${files.contract}.ended`));
}

/** Returns the contract of this loop, which has not ended; null if it is another loop's or cannot be used. Never throws. */
export function findLiveContract(files: LoopFiles, loopId: string): StoredContract | null {
  return contractIfOf(loopId, findContract(files));
}

/** Returns a found contract if it belongs to this loop, else null. */
export function contractIfOf(loopId: string, found: ReturnType<typeof findContract>): StoredContract | null {
  return typeof found !== 'string' && found.contract.loopId === loopId ? found : null;
}

/** Returns the contract of this loop, live or ended; null if unknown. Never throws. */
export function contractOfLoop(files: LoopFiles, loopId: string): StoredContract | null {
  return findLiveContract(files, loopId) ?? findEndedContract(files, loopId);
}

function contractIn(path: string): StoredContract | 'absent' | 'unreadable' {
  try {
    const stored = JSON.parse(readFileSync(regularFile(path), 'utf8')) as StoredContract;
    return !isTooDeep(stored) && checkShape(stored, shapes.contract) === null ? stored : 'unreadable';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : 'unreadable';
  }
}

/** Reads the contract of the caller's own loop; null if there is none. Throws `contract-changed` if it is unreadable. */
export function readContract(files: LoopFiles, found = findContract(files)): StoredContract | null {
  if (found !== 'unreadable') return found === 'absent' ? null : found;
  const message = `the contract ${files.contract} cannot be read.`;
  throw new RalphError('contract-changed', advise(message, 'Start over', 'restart'));
}

export type LoopRecords = Readonly<ReturnType<typeof readRecords>>;

/** Reads the records outside the project that show whose a loop is. Throws as readCounters. */
export function readRecords(files: LoopFiles) {
  return { contract: findContract(files), counters: readCounters(files) };
}

export type FoundLoop = Readonly<ReturnType<typeof findLoop>>;

/** Reads without the lock what a hook decides on. A start writes the state last, so it is read first. */
export function findLoop(files: LoopFiles) {
  return { state: readState(files.state), ...readRecords(files) };
}

/** Size limit: a larger file does not contain our counters. */
const COUNTERS_BYTES = 1024 * 1024;

/** Reads the counters kept outside the project; null if they are missing, torn or out of reach. Throws if the disk fails. */
export function readCounters({ counters: path }: Pick<LoopFiles, 'counters'>): Counters | null {
  const found = jsonOrNull(readRegularFile(path, COUNTERS_BYTES) ?? '');
  return checkShape(found, schemas.counters) === null ? (found as Counters) : null;
}

/** `where` of a hook's message for the launcher to repeat; the loop's id follows. */
export const REPEATED = 'message to the user of loop';

const LOG_BYTES = 1024 * 1024;

/** Writes a failure or a decision to the log. Never throws: a full disk must not change a decision. */
export function log(files: LoopFiles, at: string, where: string, message: string): void {
  try {
    mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
    const { size = 0 } = statSync(files.log, { throwIfNoEntry: false }) ?? {};
    if (size > LOG_BYTES) renameSync(files.log, `${files.log}.1`);
    appendLine(files.log, { at, pid: process.pid, where, message });
  } catch {
    // There is nowhere else to report to: stdout and stderr belong to the protocol.
  }
}

/** Returns the result of work that affects no decision; undefined, with the failure logged, if it throws. */
export function orLogged<T>(files: LoopFiles, at: string, where: string, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    log(files, at, where, (error as Error).message);
    return undefined;
  }
}

/** Returns the notices of a loop, oldest first. */
export function noticesOf(files: LoopFiles, loopId: string): ShownNotice[] {
  return readNotices(files)
    .filter((notice) => notice.loopId === loopId)
    .map(({ at, kind, text }) => ({ at, kind, text }));
}

/** Returns the notices of all loops of these files, oldest first. */
export function readNotices(files: LoopFiles): LoopNotice[] {
  return [formerOf(files), files.notices]
    .flatMap((path) => readLines(path).entries as readonly LoopNotice[])
    .filter(({ text }) => typeof text === 'string');
}

/** Returns the path of the older notices, kept beside the newer ones. */
export function formerOf({ notices }: LoopFiles): string {
  return `${notices}.1`;
}
