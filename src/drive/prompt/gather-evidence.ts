import { isGreen } from '../../engine/policy/proof.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { readRecord, removeIfThere, writeRecord } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { Evidence, EvidenceWatch } from '../../task/commands/run-evidence.ts';
import type { TaskCommandOptions } from '../../task/commands/run-pinned-command.ts';
import { compare, snapshot } from '../../task/progress/snapshot.ts';
import { taskFolder } from '../../task/task-file.ts';
import { digest } from '../../text/digest.ts';
import { redactRecord } from '../../text/redact/redact.ts';
import { elapsed } from '../../text/time.ts';
import { commandGuard } from '../control/command-guard.ts';
import type { Measured } from '../records/iteration-record.ts';
import { readPromptedTurn } from '../records/prompted-turn.ts';

/**
 * Runs the commands of a task folder under the contract's guardrails; masks secrets. Throws RalphError `evidence-lost`; rejects
 * with the abort reason.
 */
export async function gatherEvidence(
  files: LoopFiles,
  contract: Contract,
  options: Omit<TaskCommandOptions, 'blockingRule'> & EvidenceWatch,
): Promise<Evidence[]> {
  options.signal.throwIfAborted();
  if (!contract.task?.commands.length) return [];
  const { runEvidence } = await import('../../task/commands/run-evidence.ts');
  const run = () => runEvidence(contract, files.projectDir, { ...options, blockingRule: commandGuard(contract) });
  // Otherwise the proof rests on a check that failed.
  const restsOnChange = contract.baseline !== undefined && isGreen(contract.baseline);
  if (!restsOnChange) return redactRecord({ found: await run() }).found;
  const { apartFromWork } = await import('./project-change.ts');
  const found = (await apartFromWork(files, contract, options, run)).result;
  return redactRecord({ found }).found;
}

/**
 * Returns the fingerprint of watched files and command output for an idle agent; null if nothing is watched, or if the
 * output that the agent saw (`evidence`) is unknown.
 */
export function idleFingerprint(
  watched: string | null,
  contract: Contract | undefined,
  evidence: readonly Pick<Evidence, 'name' | 'outcome' | 'output'>[] | null,
): string | null {
  if (watched === null || !contract?.task || contract.task.commands.length === 0) return watched;
  if (evidence === null) return null;
  return `${watched} ${digest(JSON.stringify(evidence.map(({ name, outcome, output }) => [name, outcome, output])))}`;
}

const UNKNOWN: Measured = { turn: null, progress: 'unknown', changedFiles: [], bounds: [], after: null };

/** Returns the measured changes if they belong to this iteration, else unknown values. */
export function measuredFor(measured: Measured, iteration: number): Measured {
  return measured.turn?.iteration === iteration ? measured : UNKNOWN;
}

/** Compares the project with its snapshot at the start of the iteration; unknown immediately after an abort. */
export async function measureIteration(
  files: LoopFiles,
  contract: Contract,
  { env, signal }: { readonly env: NodeJS.ProcessEnv; readonly signal: AbortSignal },
): Promise<Measured> {
  const turn = readPromptedTurn(files, contract.loopId);
  if (turn === null || turn.snapshot === null) return { ...UNKNOWN, turn };
  const folder = taskFolder(files.projectDir, contract.taskPath);
  try {
    const after = await snapshot(files.projectDir, folder, { since: turn.snapshot, env, signal });
    const { progress, changedFiles, bounded } = compare(turn.snapshot, after);
    return { turn, progress, changedFiles, bounds: bounded, after };
  } catch (error) {
    if (!signal.aborted) throw error;
    return { ...UNKNOWN, turn, bounds: ['interrupted'] };
  }
}

/** Age up to which the output from the start counts as that of the first iteration. */
const FRESH_MS = 10 * 60 * 1000;

interface Stored {
  readonly loopId: string;
  readonly at: string;
  readonly evidence: readonly Evidence[];
}

/** Stores the output of commands that ran before the start, for the first prompt; without any, removes another loop's. */
export function storeStartEvidence(files: LoopFiles, loopId: string, at: string, evidence: readonly Evidence[]): void {
  if (evidence.length === 0) removeIfThere(files.startEvidence);
  else writeRecord(files.startEvidence, { loopId, at, evidence } satisfies Stored);
}

/** Takes the output of the start, once; null if there is none, or if it is another loop's or ten minutes old. */
export function takeStartEvidence(files: LoopFiles, loopId: string, at: string): Evidence[] | null {
  const found = readRecord<Stored>(files.startEvidence);
  if (found === null) return null;
  removeIfThere(files.startEvidence);
  if (found.loopId !== loopId || found.at === undefined || found.evidence === undefined) return null;
  return elapsed(found.at, at) <= FRESH_MS ? [...found.evidence] : null;
}
