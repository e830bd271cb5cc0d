import { join, relative } from 'node:path';
import { type ChecksNow, runChecksNow } from '../../drive/start/baseline.ts';
import { commandOf, isConsistent, isWhole, provingChecks } from '../../drive/status/proof-record.ts';
import type { ProofRecord } from '../../engine/schema/proof.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { sha256 } from '../../state/hash-contract.ts';
import { isDependency } from '../../task/commands/installed-dependencies.ts';
import { type Aside, filesAside, listOf } from '../../task/git/files-aside.ts';
import { ignoredUnderPins } from '../../task/git/list-files.ts';
import { type Around, git, onScreen, projectTree, repositoryAround } from '../../task/git/record-tree.ts';
import { partsOf, runGit } from '../../task/git/run-git.ts';
import { loopsBooks } from '../../task/progress/loops-files.ts';
import { printable, table } from '../../term/format.ts';
import { RalphError } from '../../text/message.ts';
import { firstLine } from '../../text/quote.ts';
import { localTime } from '../../text/time.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { LEFT, watchChecks } from '../start/first-checks.ts';
import { type Subject, subjectOf } from './proof-subject.ts';

export const VERIFY_COMMAND: Command = {
  name: 'verify',
  usage: '[NAME | TASK] [--proof FILE] [--tree REF]',
  help: 'Runs the checks of a complete loop again and compares contract, task, files and proof with what the loop recorded (proof.json). A proof from another machine is compared with the task file of this project. Exits with 1 and says what differs.',
  example: 'ralph-loop verify --proof .ralph/docs/proof.json',
  options: options({
    'proof FILE': 'Record to check; default: that of the loop.',
    'tree REF':
      'Commit to check, in a clean copy with the dependencies that are installed here; default: the files as they are.',
  }),
  control: true,
  async run(given) {
    if (given.positionals.length > 1) throw new RalphError('usage', 'verify takes one loop or task.');
    const subject = subjectOf(given);
    const { record, files } = subject;
    // The files of a loop in a worktree are there.
    const context = { ...given, projectDir: files.projectDir };
    const around = await repositoryAround(context.projectDir, context.env, subject.contract.sandbox);
    const commit = await commitMeant(context);
    const isBook = loopsBooks(subject.contract);
    // Checks run code of the project, which can restore what it finds changed.
    const before = around && commit === null ? await projectTree(around, null, isBook) : null;
    const { contract } = subject;
    const onCopy = { ...contract, verifyIn: contract.verifyIn ?? { setup: null, copy: [] } };
    const ran = await watchChecks(context, (watch) =>
      commit === null ? runChecksNow(files, contract, watch) : runChecksNow(files, onCopy, { ...watch, commit }),
    );
    if (ran === null) return LEFT;
    const findings = [
      ...recordFindings(subject),
      ...(await taskFindings(context, subject, commit)),
      ...(await treeFindings(context, around, subject, { commit, before })),
      ...checkFindings(record, ran, commit),
    ];
    const verified = findings.every(({ ok }) => ok);
    const checks = ran.results.map(({ name, outcome }) => ({ name, outcome }));
    const shared = commit === null || onCopy.verifyIn.setup !== null ? [] : await sharedWith(context, around, commit);
    const note =
      shared.length === 0 ? '' : `\nThe checks used ${listOf(shared)} as installed here: changes there are not seen.`;
    context.answer({ verified, findings, checks, record }, () => shown(given, subject, findings, verified) + note);
    return verified ? 0 : 1;
  },
};

/** Returns the installed dependencies that a clean copy of a commit shares with the repository, as paths from its top. */
async function sharedWith({ projectDir, env }: CommandContext, around: Around | null, commit: string) {
  const ignored = around && (await ignoredUnderPins(projectDir, commit, { env }));
  return (ignored ?? []).filter((path) => isDependency(around?.top ?? '', path));
}

interface Finding {
  readonly what: 'record' | 'contract' | 'task' | 'files' | 'checks' | 'proof';
  readonly ok: boolean;
  readonly text: string;
  /** All files and folders that are not compared because git ignores them; the text names the first. */
  readonly ignored?: readonly string[];
}

async function commitMeant({ values, projectDir, env }: CommandContext): Promise<string | null> {
  const ref = values['tree'];
  if (typeof ref !== 'string') return null;
  const words = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`];
  const found = await runGit(projectDir, words, { env });
  if (found.kind === 'answer') return found.text.trim();
  throw new RalphError('usage', `--tree ${ref}: git knows no such commit here.`);
}

function recordFindings({ record, contract, own, beside }: Subject): Finding[] {
  const commands = [...(contract.task?.commands.filter(({ acceptance }) => acceptance) ?? []), ...contract.validation];
  const others = [
    ...commands.filter(({ name }) => !record.checks.some((check) => check.name === name)).map(({ name }) => name),
    ...record.checks.filter(({ name, run }) => run !== commandOf(contract, name)).map(({ name }) => name),
  ];
  const differs =
    own !== null && own.hash !== record.contract
      ? 'not the contract of this loop'
      : others.length > 0
        ? `other checks than the loop ran: ${[...new Set(others)].join(', ')}`
        : null;
  return [
    recordFinding(record, own?.record ?? null, beside),
    { what: 'contract', ok: differs === null, text: differs ?? 'the same checks' },
    proofFinding(record),
  ];
}

/** Compares a record with its own digest and, on the machine where the loop ran, with the loop's record. */
function recordFinding(record: ProofRecord, own: ProofRecord | null, beside: string | null): Finding {
  const text = !isWhole(record)
    ? 'edited after it was written'
    : own !== null && own.digest !== record.digest
      ? 'not the one that the loop wrote on this machine'
      : beside !== null
        ? `of ${record.task.path}, although it is beside ${beside}`
        : null;
  return { what: 'record', ok: text === null, text: text ?? 'as it was written' };
}

function proofFinding(record: ProofRecord): Finding {
  const { proof, verified } = record;
  if (proof === null || !verified || proof === 'none')
    return { what: 'proof', ok: false, text: 'the loop itself completed unverified' };
  const ok = isConsistent(record);
  return { what: 'proof', ok, text: ok ? proof : `${proof}, which the recorded results do not allow` };
}

async function taskFindings(
  { projectDir, env }: CommandContext,
  { record, contract: { taskPath } }: Subject,
  commit: string | null,
): Promise<Finding[]> {
  const given = commit === null ? null : await runGit(projectDir, ['show', `${commit}:./${taskPath}`], { env });
  const read = (): string | null => readRegularFile(join(projectDir, taskPath));
  const text = given === null ? read() : given.kind === 'answer' ? given.text : null;
  const ok = text !== null && withEitherLineEnd(text).some((each) => sha256(each) === record.task.sha256);
  const differs = `${taskPath} ${text === null ? 'is missing' : 'changed since the verdict'}`;
  return [{ what: 'task', ok, text: ok ? taskPath : differs }];
}

/** Returns a text with each kind of line end, since git changes them on some machines (core.autocrlf). */
function withEitherLineEnd(text: string): string[] {
  const lines = text.replaceAll('\r\n', '\n');
  return [text, lines, lines.replaceAll('\n', '\r\n')];
}

async function treeFindings(
  { projectDir, env }: CommandContext,
  around: Around | null,
  { record, contract }: Subject,
  { commit, before }: { readonly commit: string | null; readonly before: string | null },
): Promise<Finding[]> {
  if (record.tree === null)
    return [{ what: 'files', ok: false, text: 'unknown: there was no commit in git when the loop ran' }];
  if (around === null)
    return [{ what: 'files', ok: false, text: 'unknown: git finds no commit here (git log says why)' }];
  const isBook = loopsBooks(contract);
  const now = await projectTree(around, commit, isBook);
  const aside: Aside = commit === null ? await filesAside(around, isBook) : { problems: [], ignored: [] };
  const { problems, ignored } = aside;
  if (problems.length > 0) return problems.map((text) => ({ what: 'files', ok: false, text }));
  if (now === record.tree) {
    // What the checks have created was missing before.
    const putBack = before === null ? [] : await filesBetween(around, before, now, '--diff-filter=a');
    if (putBack === null || putBack.length > 0)
      return [{ what: 'files', ok: false, text: `changed until the checks ran: ${listOf(putBack ?? [])}` }];
    const but = ignored.length === 0 ? '' : `; not compared, as git ignores them: ${listOf(ignored)}`;
    return [{ what: 'files', ok: true, text: `as they were at the verdict${but}`, ignored }];
  }
  const paths = await filesBetween(around, record.tree, now);
  const listed = paths === null ? 'other files than at the verdict' : `differ since the verdict: ${listOf(paths)}`;
  const where = await commitsAside(record.commits.at(-1), commit ?? 'HEAD', (words) =>
    runGit(projectDir, words, { env }),
  );
  return [{ what: 'files', ok: false, text: `${listed}${where}` }];
}

/** Returns why the commit that is checked may have other files: it does not descend from the loop's last one. */
async function commitsAside(
  last: string | undefined,
  commit: string,
  git: (words: readonly string[]) => ReturnType<typeof runGit>,
): Promise<string> {
  const isSo = async (...words: string[]): Promise<boolean> => (await git(words)).kind === 'answer';
  if (last === undefined || (await isSo('merge-base', '--is-ancestor', last, commit))) return '';
  if (await isSo('cat-file', '-e', `${last}^{commit}`))
    return "; the loop's commits are on another branch, or were rewritten";
  const shallow = await git(['rev-parse', '--is-shallow-repository']);
  const isShallow = shallow.kind === 'answer' && shallow.text.trim() === 'true';
  return `; the loop's commits are not in this clone${isShallow ? ', which is shallow (git fetch --unshallow)' : ''}`;
}

function checkFindings(record: ProofRecord, { results, problems }: ChecksNow, commit: string | null): Finding[] {
  const failed = results.filter(({ outcome }) => outcome !== 'ok');
  if (failed.length > 0) {
    return failed.map(({ name, detail }) => ({
      what: 'checks',
      ok: false,
      text:
        problems.find((problem) => problem.startsWith(`${name} cannot run: `)) ??
        `${name} does not pass: ${firstLine(detail)}`,
    }));
  }
  const ran = results.map(({ name }) => name);
  const shown = ran.map((name) => {
    const run = record.checks.find((check) => check.name === name)?.run ?? name;
    return run === name ? name : `${name} (${run})`;
  });
  // A pass of what ran says nothing about what did not run again, such as the scenarios of a test-first loop.
  const missing = provingChecks(record).filter(({ name }) => !ran.includes(name));
  if (missing.length > 0) {
    const text = `not run again: ${missing.map(({ name }) => name).join(', ')}`;
    return [{ what: 'checks', ok: false, text }];
  }
  if (ran.length === 0) return [{ what: 'checks', ok: false, text: 'none ran' }];
  const place = commit === null ? '' : ', on a clean copy';
  return [{ what: 'checks', ok: true, text: `passed: ${shown.join(', ')}${place}` }];
}

function shown(
  { paint, projectDir }: CommandContext,
  { record, own, files }: Subject,
  findings: readonly Finding[],
  verified: boolean,
): string {
  const rows = findings.map(({ what, ok, text }) => ['', what, ok ? printable(text) : paint('red', printable(text))]);
  const verdict = verified
    ? paint('green', 'Verified: the proof holds.')
    : paint('red', 'Not verified: see what differs above.');
  const { task, endedAt } = record;
  const before = provingChecks(record).flatMap(({ name, before: result }) =>
    result === null ? [] : `${name} ${result}`,
  );
  // No signature shows who wrote the record.
  const word =
    !verified || own !== null || before.length === 0
      ? ''
      : `\nOnly the sender's word says what the checks did before the start: ${printable(before.join(', '))}.`;
  const path = relative(projectDir, join(files.projectDir, task.path));
  return `Proof of ${printable(path)}, complete at ${localTime(endedAt)}:\n${table(rows)}\n${verdict}${word}`;
}

/** Returns the files that differ between two trees of the project; null if the repository lacks one of them. */
async function filesBetween(
  around: Around,
  one: string,
  other: string,
  ...only: readonly string[]
): Promise<string[] | null> {
  const found = await git(around, ['diff-tree', '-r', '-z', '--name-only', '--no-renames', ...only, one, other]);
  return found.ok ? partsOf(found.text).map(onScreen) : null;
}
