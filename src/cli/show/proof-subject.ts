import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { proofOfLoop } from '../../drive/status/end-report.ts';
import { proofPath } from '../../drive/status/proof-record.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { type ProofRecord, proofRecord } from '../../engine/schema/proof-record.ts';
import { hashContract } from '../../state/hash-contract.ts';
import { findEndedContract, LOOP_NAME, type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { endedState } from '../../state/with-state.ts';
import { projectPath } from '../../task/project-file.ts';
import { LOOP_DIRECTORIES, taskFileIn } from '../../task/task-file.ts';
import { jsonOrNull } from '../../text/json-or-null.ts';
import { advise, RalphError } from '../../text/message.ts';
import { endedLoop, pathNamed, readTaskText } from '../choose-loop.ts';
import type { CommandContext } from '../command.ts';
import { examineFile } from '../task/try-checks.ts';

/** A record, and the contract by which it is checked. */
export interface Subject {
  readonly record: ProofRecord;
  readonly contract: Contract;
  readonly files: LoopFiles;
  /** What the loop left on this machine: the SHA-256 of its contract, and its record; null on another one. */
  readonly own: { readonly hash: string; readonly record: ProofRecord | null } | null;
}

export function subjectOf(context: CommandContext): Subject {
  const { projectDir, env, values, positionals } = context;
  const file = values['proof'];
  if (file !== undefined && positionals.length > 0) throw new RalphError('usage', 'Give a loop or --proof, not both.');
  const path = typeof file === 'string' ? resolve(file) : proofBeside(context);
  if (path === null) return ownSubject(context);
  const record = readProof(path);
  const files = loopFiles(projectDir, record.name, env);
  const stored = findEndedContract(files, record.loopId);
  if (stored === null) return { record, contract: contractHere(context, record), files, own: null };
  const state = endedState(files, record.loopId);
  const own = { hash: hashContract(stored.contract), record: state && proofOfLoop(files, state) };
  return { record, contract: stored.contract, files, own };
}

/** Returns the loop of this machine that is meant. Throws `refused` if it is not complete. */
function ownSubject(context: CommandContext): Subject {
  const { files, state } = endedLoop(context, context.positionals[0]);
  if (state.ended.as !== 'complete') {
    throw new RalphError(
      'refused',
      advise(`The loop ended as ${state.ended.as}: it proves nothing.`, 'Go on', 'resume'),
    );
  }
  const stored = findEndedContract(files, state.loopId);
  if (stored === null) throw new RalphError('refused', `${files.contract}.ended is missing or unreadable.`);
  const record = proofOfLoop(files, state);
  if (record === null) throw new RalphError('refused', `The loop has no proof: ${files.log} says why.`);
  const path = proofPath(files, record.task.path);
  // What others get has to be what the loop recorded.
  const given = existsSync(path) ? readProof(path) : record;
  const own = { hash: hashContract(stored.contract), record };
  return { record: given, contract: stored.contract, files, own };
}

/** Returns the proof in the loop directory that is named, if no loop of this machine is meant; otherwise null. */
function proofBeside({ positionals: [named], projectDir, env }: CommandContext): string | null {
  if (named === undefined) return null;
  const folder = resolve(pathNamed(projectDir, named));
  const path = resolve(taskFileIn(folder) === null ? resolve(folder, '..') : folder, 'proof.json');
  const isIn = relative(projectDir, path).startsWith(`${LOOP_DIRECTORIES}/`);
  if (!isIn || !existsSync(path)) return null;
  const { name, loopId } = readProof(path);
  return findEndedContract(loopFiles(projectDir, name, env), loopId) === null ? path : null;
}

/** Reads a record. Throws `usage` for a file that is none. */
function readProof(path: string): ProofRecord {
  const read = proofRecord.safeParse(jsonOrNull(readTaskText(path, path)));
  const [issue] = read.error?.issues ?? [];
  const isNamed = read.data?.name == null || LOOP_NAME.test(read.data.name);
  if (read.success && isNamed) return read.data;
  const where = isNamed ? issue?.path.join('.') || 'the whole file' : 'name';
  throw new RalphError('usage', `${path} is no proof of a loop: ${where}: ${issue?.message ?? 'Invalid loop name'}.`);
}

/** Builds the contract of the record's task as it is in this project. Throws RalphError as a start would. */
function contractHere(context: CommandContext, { task }: ProofRecord): Contract {
  const { projectDir } = context;
  if (projectPath(projectDir, projectDir, task.path) === null) {
    throw new RalphError('usage', `The task ${JSON.stringify(task.path)} of the proof is outside the project.`);
  }
  const path = resolve(projectDir, task.path);
  readTaskText(path, task.path);
  const { contract, refusal } = examineFile(context, path);
  if (contract !== null) return contract;
  throw refusal === null ? new RalphError('task-invalid', task.path) : new RalphError('task-invalid', refusal);
}
