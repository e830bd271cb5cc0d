import { type EndReport, reportLines, type ShownNotice } from '../../engine/end-report.ts';
import { billedTokens, totalCost } from '../../engine/policy/budget.ts';
import { timeSpent, timeStopped } from '../../engine/policy/loop-time.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { ProofRecord } from '../../engine/schema/proof.ts';
import type { LoopState, StateOf } from '../../engine/schema/state.ts';
import { SANDBOX_TEXTS } from '../../sandbox/messages.ts';
import { lossIn } from '../../state/evidence/evidence.ts';
import { readRecord, writeRecord } from '../../state/files/regular-file.ts';
import { findEndedContract, type LoopFiles, log, noticesOf } from '../../state/loop-files.ts';
import { callHere } from '../../state/process/program.ts';
import type { RecordedTree } from '../../task/git/record-tree.ts';
import { changedRepositories, onScreen, recordTree, refOf, repositoryAround } from '../../task/git/record-tree.ts';
import { changesBetween, gitIn, type StartPoint, startPointOf } from '../../task/git/start-point.ts';
import { commandLine, type Message } from '../../text/message.ts';
import { redactRecord } from '../../text/redact/redact.ts';
import { unrecordedIterations } from '../records/journal.ts';

const TIMEOUT_MS = 10_000;

/** Returns the report of an ended loop: the stored one, otherwise one from the project's present state. */
export async function endReport(files: LoopFiles, state: StateOf<'ended'>, env: NodeJS.ProcessEnv): Promise<EndReport> {
  return storedEnd(files, state)?.report ?? gathered(files, state, env, null);
}

/** Gathers the report at the end of a loop, stores it, and returns it. Never rejects: the loop has ended regardless. */
export async function reportAtEnd(
  files: LoopFiles,
  state: LoopState | null,
  env: NodeJS.ProcessEnv,
): Promise<EndReport | null> {
  if (state?.status !== 'ended') return null;
  try {
    const before = storedEnd(files, state);
    if (before !== null) return before.report;
    const { end, repositories } = (await endTree(files, state.loopId, env)) ?? { end: null };
    const report = await gathered(files, state, env, end, repositories);
    const proof = state.ended.as === 'complete' ? await proofAtEnd(files, state, end, env) : null;
    const kept: StoredReport = { of: keyOf(state), report, end, ...(proof && { proof }) };
    writeRecord(files.report, kept);
    return report;
  } catch (error) {
    log(files, state.ended.at, 'report', (error as Error).message);
    return null;
  }
}

/** Records what a complete loop rests on, for others; null if that failed, which the log explains. */
async function proofAtEnd(
  files: LoopFiles,
  state: StateOf<'ended'>,
  end: RecordedTree | null,
  env: NodeJS.ProcessEnv,
): Promise<ProofRecord | null> {
  try {
    const stored = findEndedContract(files, state.loopId);
    if (stored === null) return null;
    const { proofRecordOf, writeProof } = await import('./proof-record.ts');
    const { point: start } = startIn(files, stored.contract);
    const record = await proofRecordOf({ files, state, stored, start, end }, env);
    writeProof(files, record);
    return record;
  } catch (error) {
    log(files, state.ended.at, 'proof', (error as Error).message);
    return null;
  }
}

/** Returns the lines of the report for a message, each after a line end; '' if no agent has changed anything. */
export async function reportText(files: LoopFiles, state: LoopState | null, env: NodeJS.ProcessEnv): Promise<string> {
  const report = await reportAtEnd(files, state, env);
  return report === null || isEmpty(report) ? '' : `\n${reportLines(report).join('\n')}`;
}

/** Returns the message of a loop's end without the command, which its report contains. */
export function messageBeside(report: string, state: LoopState | null, message: string): string {
  return report !== '' && state?.status === 'ended' ? (state.ended.text ?? message) : message;
}

function isEmpty({ iterations, tokens, changes, notices }: EndReport): boolean {
  const changed = changes === null ? 0 : changes.stat.length + changes.newFiles.length;
  const isRestored = notices.some(({ kind }) => kind === 'restore' || kind === 'change');
  return iterations === 0 && tokens === null && changed === 0 && !isRestored;
}

interface StoredReport {
  readonly of: string;
  readonly report: EndReport;
  readonly end: RecordedTree | null;
  /** What a complete loop records for others; absent if it could not be written. */
  readonly proof?: ProofRecord;
}

/**
 * Records the files at the end of a loop, to distinguish later changes by the user from the loop's. Names nested
 * repositories whose files differ from their commit.
 */
async function endTree(files: LoopFiles, loopId: string, env: NodeJS.ProcessEnv) {
  const contract = findEndedContract(files, loopId)?.contract;
  if (startIn(files, contract).point === null) return null;
  const sandbox = contract?.sandbox;
  const around = await repositoryAround(files.projectDir, env, sandbox);
  if (around === null) return null;
  const end = await recordTree(around, refOf(loopId, 'end'), 'At the end of a loop');
  const changed = await changedRepositories(around, around.indexFile).catch(() => []);
  return { end, repositories: changed.map((path) => onScreen(path).slice(around.prefix.length)) };
}

async function gathered(
  files: LoopFiles,
  state: StateOf<'ended'>,
  env: NodeJS.ProcessEnv,
  end: RecordedTree | null,
  repositories: readonly string[] = [],
): Promise<EndReport> {
  const { loopId, ended, usage, iteration, maxIterations, checks = [], lastWords = [] } = state;
  const unrecorded = unrecordedIterations(files, state);
  const stoppedMs = timeStopped(state, ended.at);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const contract = findEndedContract(files, loopId)?.contract;
  const { point, lost } = startIn(files, contract);
  const options = { env, signal, sandbox: contract?.sandbox };
  const found = point && end && (await changesBetween(files.projectDir, point.tree, end, options));
  const committed = found?.committed ?? null;
  const changes = found && redactRecord({ ...found.changes, ...(repositories.length > 0 && { repositories }) });
  // `status` shows a stored report and need not load the parser of shell commands.
  const { changedScripts } = await import('../../task/pinned-scripts/contract-scripts.ts');
  const { changedPrograms } = await import('../../task/pinned-scripts/pinned-programs.ts');
  const scripts = contract ? changedScripts(contract, files.projectDir).map(({ what }) => what) : [];
  const programs = contract ? changedPrograms(contract, Object.keys(contract.programs ?? {}), env) : [];
  const tokens = billedTokens(usage);
  const loop = { name: state.name, mode: state.mode, ...callHere() };
  const inProject = contract?.policy.plan && contract.verifyIn === undefined && contract.validation.length > 0;
  const isChanged = changes !== null && changes.stat.length + changes.newFiles.length > 0;
  return {
    outcome: ended.as,
    reason: ended.text ?? ended.message,
    verified: ended.verified,
    proof: ended.proof ?? null,
    checks,
    before: contract?.baseline ? redactRecord(contract.baseline.checks) : null,
    ...(inProject && { verifiedIn: 'project' as const }),
    ...(unrecorded > 0 && { unrecorded }),
    iterations: iteration,
    maxIterations,
    durationMs: timeSpent(state, ended.at),
    ...(stoppedMs > 0 && { stoppedMs }),
    costUsd: totalCost(usage),
    tokens: tokens === 0 ? null : tokens,
    changes,
    ...(committed !== null && { committed }),
    changedScripts: [...scripts, ...programs],
    notices: lost === null ? noticesOf(files, loopId) : [...noticesOf(files, loopId), lostStart(state, lost)],
    unsandboxed: unsandboxedText(contract?.unsandboxed),
    lastWords,
    restore: isChanged || (point && !changes) ? commandLine({ command: 'undo' }, loop) : null,
    next:
      ended.as !== 'complete'
        ? commandLine(ended.next ?? { command: 'resume' }, loop)
        : isChanged && point && end
          ? `${gitIn(files.projectDir)} diff ${point.tree.commit.slice(0, 12)} ${end.commit.slice(0, 12)}`
          : null,
  };
}

/** Returns the start point of an ended loop, or which file of it is lost. */
function startIn(files: LoopFiles, contract: Contract | undefined): { point: StartPoint | null; lost: Message | null } {
  try {
    return { point: contract === undefined ? null : startPointOf(files, contract), lost: null };
  } catch (error) {
    return { point: null, lost: lossIn(error) };
  }
}

const lostStart = ({ ended: { at } }: StateOf<'ended'>, { text }: Message): ShownNotice => ({
  at,
  kind: 'evidence',
  text: `${text} What changed since the start is unknown.`,
});

function unsandboxedText(why: Contract['unsandboxed']): string | null {
  if (why === undefined) return null;
  return why === 'not-set' ? SANDBOX_TEXTS.endOfUnset : SANDBOX_TEXTS.endOfAuto;
}

/** Returns what was stored at the end of a loop; null if there is nothing. */
export function storedEnd(files: LoopFiles, state: StateOf<'ended'>): StoredReport | null {
  const found = readRecord<StoredReport>(files.report);
  return found?.of === keyOf(state) && typeof found.report === 'object' ? (found as StoredReport) : null;
}

/** Returns the key of an end: a resumed loop ends again, under the same id. */
function keyOf({ loopId, ended }: StateOf<'ended'>): string {
  return `${loopId} ${ended.at}`;
}
