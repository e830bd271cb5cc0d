import { dirname, join, posix } from 'node:path';
import { billedTokens, totalCost } from '../../engine/policy/budget.ts';
import { countsOf, proofOf } from '../../engine/policy/proof.ts';
import { PROOF_VERSION } from '../../engine/schema/constants.ts';
import type { Contract, StoredContract } from '../../engine/schema/contract.ts';
import type { ProofRecord } from '../../engine/schema/proof.ts';
import type { StateOf } from '../../engine/schema/state.ts';
import { fieldsOf } from '../../hosts/fields.ts';
import { readRegularFile, realPathOf, writeAtomically } from '../../state/files/regular-file.ts';
import { sha256 } from '../../state/hash-contract.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { pathKind } from '../../state/task-folder/run-files.ts';
import { projectTree, type RecordedTree, repositoryAround } from '../../task/git/record-tree.ts';
import { runGit } from '../../task/git/run-git.ts';
import type { StartPoint } from '../../task/git/start-point.ts';
import { isLoopsOwn } from '../../task/left-out.ts';
import { loopsBooks } from '../../task/progress/loops-files.ts';
import { isWithin } from '../../task/project-file.ts';
import { relativeTaskFolder } from '../../task/task-file.ts';
import { canonicalJson, jsonOrNull } from '../../text/json.ts';
import { RalphError } from '../../text/message.ts';
import { redact } from '../../text/redact/redact.ts';

/** Facts at the end of a loop. `start` is null without git, `end` if its files are unknown. */
interface Ended {
  readonly files: LoopFiles;
  readonly state: StateOf<'ended'>;
  readonly stored: StoredContract;
  readonly start: StartPoint | null;
  readonly end: RecordedTree | null;
}

/** Returns the record of a complete loop. Throws RalphError `state-io` if its task file is gone. */
export async function proofRecordOf(ended: Ended, env: NodeJS.ProcessEnv): Promise<ProofRecord> {
  const { files, state, stored, start, end } = ended;
  const { contract } = stored;
  const { taskPath } = contract;
  const { usage, checks = [] } = state;
  const text = readRegularFile(join(files.projectDir, taskPath));
  if (text === null) throw new RalphError('state-io', `${taskPath} is missing or no regular file.`);
  const around = await repositoryAround(files.projectDir, env, contract.sandbox);
  const tree = around && end && (await projectTree(around, end.commit, loopsBooks(contract)));
  const commits = start && end ? await commitsBetween(files.projectDir, start, end, env) : [];
  const tokens = billedTokens(usage);
  return whole({
    proofVersion: PROOF_VERSION,
    loopId: state.loopId,
    name: state.name,
    task: { path: taskPath, sha256: sha256(text) },
    contract: stored.hash,
    checks: checks.map(({ name, tests }) => ({
      ...{ name, run: commandOf(contract, name), ...resultBefore(contract, name), after: 'passed' as const },
      ...(tests && { testsAfter: tests }),
    })),
    proof: state.ended.proof ?? null,
    verified: state.ended.verified,
    tree,
    commits,
    iterations: state.iteration,
    costUsd: totalCost(usage),
    tokens: tokens === 0 ? null : tokens,
    client: contract.clientVersion,
    node: process.version,
    startedAt: state.startedAt,
    endedAt: state.ended.at,
  });
}

export function whole(record: Omit<ProofRecord, 'digest'>): ProofRecord {
  return { ...record, digest: sha256(canonicalJson(record)) };
}

/** Returns whether the record is unchanged since it was written. */
export function isWhole({ digest, ...record }: ProofRecord): boolean {
  return whole(record).digest === digest;
}

/** Returns whether the results in the record allow its proof. */
export function isConsistent(record: ProofRecord): boolean {
  const { proof } = record;
  const proving = provingChecks(record);
  const results = proving.map(({ name }) => ({ name, outcome: 'ok' as const }));
  const known = proving.flatMap(({ name, before }) => (before === null ? [] : [{ name, outcome: before }]));
  const baseline = known.length === 0 ? undefined : { checks: known };
  return (['yes', 'no'] as const).some((changed) => proofOf({ baseline, results, changed }) === proof);
}

/** Returns the checks that prove the work; others, such as the findings log, only refute a claim. */
export function provingChecks({ checks }: ProofRecord): ProofRecord['checks'] {
  return checks.filter(({ run, before }) => run !== null || before !== null);
}

/** Returns the shell text of a check, with secrets masked; null for one without a command. */
export function commandOf({ validation, task }: Contract, name: string): string | null {
  const commands = [...(task?.commands ?? []), ...validation];
  const found = commands.find((command) => command.name === name);
  return found === undefined ? null : redact(found.run);
}

function resultBefore(
  { baseline }: Contract,
  name: string,
): Pick<ProofRecord['checks'][number], 'before' | 'testsBefore'> {
  const found = baseline?.checks.find((check) => check.name === name);
  if (found === undefined) return { before: null };
  const { outcome, tests } = found;
  return { before: outcome, ...(tests && { testsBefore: countsOf(tests) }) };
}

async function commitsBetween(
  projectDir: string,
  { tree }: StartPoint,
  end: RecordedTree,
  env: NodeJS.ProcessEnv,
): Promise<string[]> {
  const list = await runGit(projectDir, ['rev-list', '--reverse', `${tree.head}..${end.head}`], { env });
  return list.kind === 'answer' ? list.text.split('\n').filter((line) => line !== '') : [];
}

/** Name of the record beside a task in `.ralph/NAME`. */
export const PROOF_FILE = 'proof.json';

/** Returns the path of a loop's `proof.json`: in `.ralph/NAME`, or among the runtime files, which git ignores. */
export function proofPath(files: LoopFiles, taskPath: string): string {
  const path = posix.join(relativeTaskFolder(taskPath), PROOF_FILE);
  return isLoopsOwn(path) ? join(files.projectDir, path) : files.proof;
}

/** Writes `proof.json`. Keeps a user's file of that name. Throws `refused` for a link, even above it. */
export function writeProof(files: LoopFiles, record: ProofRecord): void {
  const path = proofPath(files, record.task.path);
  const folder = realPathOf(dirname(path));
  if (folder !== null && !isWithin(realPathOf(files.projectDir) ?? '', folder))
    throw new RalphError('refused', `${path} leads out of the project, and nothing is written through it.`);
  const there = pathKind(path);
  const isOurs = there === 'file' && 'proofVersion' in fieldsOf(jsonOrNull(readRegularFile(path) ?? ''));
  if (there !== 'nothing' && !isOurs) throw new RalphError('refused', `${path} is not of a loop, and stays as it is.`);
  writeAtomically(path, `${JSON.stringify(record, null, 2)}\n`);
}
