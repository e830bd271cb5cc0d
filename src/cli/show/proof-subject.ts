import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { memberFiles } from '../../drive/parallel/batch.ts';
import { storedEnd } from '../../drive/status/end-report.ts';
import { PROOF_FILE, proofPath } from '../../drive/status/proof-record.ts';
import { worktreeLoop } from '../../drive/worktree/worktree-place.ts';
import { PROOF_VERSION } from '../../engine/schema/constants.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { type ProofRecord, proofRecord } from '../../engine/schema/proof.ts';
import { isFolder } from '../../state/files/regular-file.ts';
import { hashContract } from '../../state/hash-contract.ts';
import { findEndedContract, LOOP_NAME, type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { endedState } from '../../state/with-state.ts';
import { projectPath } from '../../task/project-file.ts';
import { LOOP_DIRECTORIES, relativeTaskFolder, taskFileIn } from '../../task/task-file.ts';
import { jsonOrNull } from '../../text/json.ts';
import { about, advise, nullIfRefused, RalphError } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import { statusWords } from '../../text/status-words.ts';
import { chosenRun, endedLoop, pathNamed, readTaskText, tellOfRun } from '../choose-loop.ts';
import type { CommandContext } from '../command.ts';
import { examineFile } from '../task/try-checks.ts';

/** A record, and the contract against which it is checked. */
export interface Subject {
  readonly record: ProofRecord;
  readonly contract: Contract;
  readonly files: LoopFiles;
  /** What the loop left on this machine: the SHA-256 of its contract, and its record; null on another machine. */
  readonly own: { readonly hash: string; readonly record: ProofRecord | null } | null;
  /** Task file of another loop beside the record; null for a record in its own loop's folder, or in no loop's. */
  readonly beside: string | null;
}

export function subjectOf(context: CommandContext): Subject {
  const { projectDir, env, values, positionals } = context;
  const file = values['proof'];
  if (file !== undefined && positionals.length > 0) throw new RalphError('usage', 'Give a loop or --proof, not both.');
  const path = typeof file === 'string' ? resolve(file) : proofBeside(context);
  if (path === null) return ownSubject(context);
  const record = readProof(path);
  const files = loopFiles(projectDir, record.name, env);
  const beside = otherTask(projectDir, path, record);
  const stored = findEndedContract(files, record.loopId);
  if (stored === null) return { record, contract: contractHere(context, record), files, own: null, beside };
  const state = endedState(files, record.loopId);
  const own = { hash: hashContract(stored.contract), record: (state && storedEnd(files, state)?.proof) ?? null };
  return { record, contract: stored.contract, files, own, beside };
}

/** Returns the task file in the folder of a record that belongs to another task; else null. */
function otherTask(projectDir: string, path: string, { task }: ProofRecord): string | null {
  const folder = relative(projectDir, dirname(path));
  if (!folder.startsWith(`${LOOP_DIRECTORIES}/`) || folder === relativeTaskFolder(task.path)) return null;
  const there = taskFileIn(dirname(path));
  return there && join(folder, there);
}

/** Returns the loop of this machine that is meant. Throws `refused` if it is not complete. */
function ownSubject(context: CommandContext): Subject {
  const sent = proofsIn(context.projectDir);
  const ofPlan = lastOfPlan(context);
  if (
    ofPlan === null &&
    context.positionals.length === 0 &&
    sent[0] !== undefined &&
    nullIfRefused(() => endedLoop(context, undefined), 'no-loop') === null
  ) {
    const text = `No loop has ended on this machine. Proofs of others are here: ${sent.map((name) => `${LOOP_DIRECTORIES}/${name}/${PROOF_FILE}`).join(', ')}.`;
    throw new RalphError('refused', advise(text, 'Check one', `verify ${quoted(sent[0])}`));
  }
  if (ofPlan === null) tellOfRun(context);
  const { files, state } = ofPlan ?? endedLoop(context, context.positionals[0]);
  if (state.ended.as !== 'complete') {
    const text = `The loop did not complete (${statusWords(state.ended.as)}): it proves nothing.`;
    const { command, options = {} } = state.ended.next ?? { command: 'resume' };
    throw new RalphError('refused', about(advise(text, 'Go on', command, options), state));
  }
  const stored = findEndedContract(files, state.loopId);
  if (stored === null) throw new RalphError('refused', `${files.contract}.ended is missing or unreadable.`);
  const record = storedEnd(files, state)?.proof;
  if (record === undefined) throw new RalphError('refused', `The loop has no proof: ${files.log} says why.`);
  const path = proofPath(files, record.task.path);
  // What others get must be what the loop recorded.
  const given = existsSync(path) ? readProof(path) : record;
  const own = { hash: hashContract(stored.contract), record };
  return { record: given, contract: stored.contract, files, own, beside: null };
}

/** Returns the loop whose commit completed a parallel plan, now that its worktree is gone; null if no such plan is meant. */
function lastOfPlan(context: CommandContext): ReturnType<typeof endedLoop> | null {
  const { projectDir, env, positionals } = context;
  const { run } = chosenRun(context, positionals[0] ?? null) ?? {};
  if (run?.plan == null || run.status !== 'complete') return null;
  const loops = run.tasks.flatMap((task) => {
    const kept = memberFiles(projectDir, task, env);
    const state = kept && endedState(kept, task.loop?.loopId ?? '');
    // Its records outside the project stay where they are. Its work is in the project.
    return state ? [{ files: { ...worktreeLoop(projectDir, kept.name ?? '', env), projectDir }, state }] : [];
  });
  return loops.sort((a, b) => a.state.ended.at.localeCompare(b.state.ended.at)).at(-1) ?? null;
}

/** Returns the proof in the named loop directory, if no loop of this machine is meant; otherwise null. */
function proofBeside({ positionals: [named], projectDir, env }: CommandContext): string | null {
  if (named === undefined) return null;
  const meant = resolve(pathNamed(projectDir, named));
  const folder = resolve(projectDir, LOOP_DIRECTORIES, named);
  const places = [meant, resolve(meant, '..'), folder].map((place) => resolve(place, PROOF_FILE));
  const path = places.find(
    (place) => relative(projectDir, place).startsWith(`${LOOP_DIRECTORIES}/`) && existsSync(place),
  );
  if (path === undefined) return null;
  const { name, loopId } = readProof(path);
  return findEndedContract(loopFiles(projectDir, name, env), loopId) === null ? path : null;
}

/** Returns the names of the loop directories that hold a proof. */
function proofsIn(projectDir: string): string[] {
  const folder = join(projectDir, LOOP_DIRECTORIES);
  const names = isFolder(folder) ? readdirSync(folder) : [];
  return names.filter((name) => LOOP_NAME.test(name) && existsSync(join(folder, name, PROOF_FILE))).sort();
}

/** Reads a record. Throws `usage` for a file that is not a record. */
function readProof(path: string): ProofRecord {
  const value = jsonOrNull(readTaskText(path, path));
  const version = Number((value as { readonly proofVersion?: unknown } | null)?.proofVersion);
  if (version > PROOF_VERSION) {
    throw new RalphError(
      'usage',
      `${path} is a proof of a newer ralph-loop (its version is ${version}, this one reads ${PROOF_VERSION}). Update ralph-loop.`,
    );
  }
  const read = proofRecord.safeParse(value);
  const [issue] = read.error?.issues ?? [];
  const isNamed = read.data?.name == null || LOOP_NAME.test(read.data.name);
  if (read.success && isNamed) return read.data;
  const where = isNamed ? issue?.path.join('.') || 'the whole file' : 'name';
  throw new RalphError('usage', `${path} is no proof of a loop: ${where}: ${issue?.message ?? 'Invalid loop name'}.`);
}

/** Builds the contract of the record's task as it is in this project. Throws RalphError as a start would. */
function contractHere(context: CommandContext, { task }: ProofRecord): Contract {
  const { projectDir } = context;
  if (projectPath(projectDir, projectDir, task.path) === null)
    throw new RalphError('usage', `The task ${JSON.stringify(task.path)} of the proof is outside the project.`);
  const path = resolve(projectDir, task.path);
  readTaskText(path, `The task ${task.path} of the proof`, {
    text: ' Check a proof in a clone of its project, and on the branch of its loop.',
  });
  const { contract, refusal } = examineFile(context, path);
  if (contract !== null) return contract;
  throw refusal === null ? new RalphError('task-invalid', task.path) : new RalphError('task-invalid', refusal);
}
