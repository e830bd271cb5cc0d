import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import { DOUBTED } from '../../engine/findings/finding-status.ts';
import { type Finding, isOpen, readFindings } from '../../engine/findings/read-findings.ts';
import { goneText, unreadLogText } from '../../engine/identity/messages.ts';
import { compareOwed, type Entry } from '../../engine/identity/questions.ts';
import type { TaskTerms } from '../../engine/schema/contract.ts';
import type { Seen } from '../../engine/schema/records.ts';
import { ifOutOfReach } from '../../state/files/regular-file.ts';
import { sha256 } from '../../state/hash-contract.ts';
import { isProjectFile, isWithin, projectPath } from '../project-file.ts';
import { FINDINGS_LOG, FORMER_LOG } from '../settings/defaults.ts';
import { PROGRESS_FILE, relativeTaskFolder, taskFolder } from '../task-file.ts';
import { checkQuestions, OPEN_QUESTIONS } from './open-questions.ts';

/** What the loop has seen in the files that these checks read. */
type SeenOfTask = Pick<Seen, 'questions' | 'outputs'>;

/**
 * Checks that the required outputs exist and are not empty, and that OPEN_QUESTIONS.md has no open P0 and P1 items.
 * `taskPath` is relative.
 */
export function checkTaskOutputs(
  projectDir: string,
  taskPath: string,
  { requiredOutputs = [], openQuestions }: Partial<TaskTerms>,
  { questions, outputs }: SeenOfTask = { questions: [], outputs: {} },
): CheckResult[] {
  const folder = taskFolder(projectDir, taskPath);
  const shown = relativeTaskFolder(taskPath);
  const results = namedOutputs(requiredOutputs).map((path) => checkOutput(folder, shown, path, outputs[path]));
  if (lookAtOutput(folder, OPEN_QUESTIONS).kind !== 'absent')
    return [...results, { ...checkQuestions(folder, shown, questions), refutesOnly: true }];
  if (openQuestions === 'optional' && questions.length === 0) return results;
  const file = posix.join(shown, OPEN_QUESTIONS);
  const detail =
    questions.length === 0
      ? `${missing(shown, OPEN_QUESTIONS)} An empty list of open questions is fine.`
      : `${missing(shown, OPEN_QUESTIONS)} ${goneText(file, questions)}`;
  return [...results, { name: OPEN_QUESTIONS, outcome: 'failed', detail, refutesOnly: true }];
}

/** Returns the marks of the required outputs that already exist, by path, for `checkTaskOutputs`. */
export function outputsNow(projectDir: string, taskPath: string, outputs: readonly string[]): Record<string, string> {
  const folder = taskFolder(projectDir, taskPath);
  return Object.fromEntries(
    namedOutputs(outputs).flatMap((path) => {
      const output = lookAtOutput(folder, path);
      return output.kind === 'there' ? [[path, output.mark()]] : [];
    }),
  );
}

/** Returns the files that a required gate needs and that do not exist yet, relative to the project. */
export function missingFiles(projectDir: string, taskPath: string, terms: TaskTerms): string[] {
  if (terms.gate !== 'required') return [];
  const questions = terms.openQuestions === 'optional' ? [] : [OPEN_QUESTIONS];
  const folder = taskFolder(projectDir, taskPath);
  return [...namedOutputs(terms.requiredOutputs), ...questions]
    .filter((path) => lookAtOutput(folder, path).kind === 'absent')
    .map((path) => posix.join(relativeTaskFolder(taskPath), path));
}

function namedOutputs(outputs: readonly string[]): string[] {
  return outputs.filter((path) => path !== PROGRESS_FILE);
}

function checkOutput(folder: string, shown: string, path: string, before: string | undefined): CheckResult {
  const name = `required output ${path}`;
  const output = lookAtOutput(folder, path);
  const whole = posix.join(shown, path);
  if (output.kind === 'there') {
    const isAsBefore = before !== undefined && output.mark() === before;
    return { name, outcome: 'ok', detail: isAsBefore ? 'it is as it was before the start.' : 'it exists.' };
  }
  const details: Readonly<Record<typeof output.kind, string>> = {
    absent: missing(shown, path),
    empty: `${whole} is empty.`,
    foreign: `${whole} is not a regular file in the task folder: replace it with one.`,
  };
  return { name, outcome: 'failed', detail: details[output.kind] };
}

function missing(shown: string, path: string): string {
  return `missing; create it as ${posix.join(shown, path)}.`;
}

type Output =
  | { readonly kind: 'absent' | 'empty' | 'foreign' }
  /** The mark stays the same while the file, or the files of the folder, do. */
  | { readonly kind: 'there'; readonly mark: () => string };

/** Size from which files are recognised by size and time only. */
const MOST_HASHED = 64 * 1024 * 1024;
/** Size up to which files are checked for being blank. */
const MOST_BLANK = 64 * 1024;
const MOST_FILES = 2_000;

/** Examines a required output: a file that is not blank, or a folder with one, inside the task's folder. Never throws. */
function lookAtOutput(folder: string, path: string): Output {
  const whole = join(folder, path);
  // A folder on the way is inaccessible, or not a folder.
  const isThere = ifOutOfReach(() => lstatSync(whole, { throwIfNoEntry: false }) !== undefined, false);
  if (!isThere) return { kind: 'absent' };
  return ifOutOfReach(
    (): Output => {
      if (!isWithin(realpathSync(folder), realpathSync(whole))) return { kind: 'foreign' };
      const stat = statSync(whole);
      if (stat.isFile())
        return isBlank(whole, stat.size) ? { kind: 'empty' } : { kind: 'there', mark: () => markOf(whole) };
      if (!stat.isDirectory()) return { kind: 'foreign' };
      const files = filesBelow(whole);
      const isEmpty = files.every((file) => isBlank(file, statSync(file).size));
      return isEmpty ? { kind: 'empty' } : { kind: 'there', mark: () => sha256(files.map(markOf).join('\n')) };
    },
    { kind: 'foreign' },
  );
}

/** Returns whether a small file has only white space and invisible characters, such as NUL and the zero-width space. */
function isBlank(file: string, size: number): boolean {
  return size <= MOST_BLANK && !/[^\s\p{C}\p{Z}]/u.test(readFileSync(file, 'utf8'));
}

function markOf(file: string): string {
  const { size, mtimeMs } = statSync(file);
  return size > MOST_HASHED ? `${size} ${mtimeMs}` : sha256(readFileSync(file));
}

/** Lists the first regular files below a folder, in order; links are not followed. */
function filesBelow(folder: string): string[] {
  const files: string[] = [];
  const visit = (at: string): void => {
    const entries = readdirSync(at, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      if (files.length === MOST_FILES) return;
      if (entry.isFile()) files.push(join(at, entry.name));
      else if (entry.isDirectory()) visit(join(at, entry.name));
    }
  };
  visit(folder);
  return files;
}

const NAME = 'findings log';
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_SHOWN = 20;

type FindingsText =
  | { readonly kind: 'absent'; readonly path: string }
  | { readonly kind: 'unavailable'; readonly why: string }
  | { readonly kind: 'text'; readonly path: string; readonly text: string };

/** Reads the findings log. Never throws. */
export function readFindingsLog(projectDir: string, logPath: string): FindingsText {
  const isFormer = logPath === FINDINGS_LOG && !existsSync(join(projectDir, logPath));
  const path = projectPath(projectDir, projectDir, isFormer ? FORMER_LOG : logPath);
  if (path === null) return unreadable(`${logPath} is outside the project.`);
  try {
    const stat = statSync(join(projectDir, path), { throwIfNoEntry: false });
    if (stat === undefined) return { kind: 'absent', path: logPath };
    if (!isProjectFile(projectDir, path)) return unreadable(`${path} is not a regular file inside the project.`);
    if (stat.size > MAX_BYTES) return unreadable(`${path} has ${stat.size} bytes; at most ${MAX_BYTES} are read.`);
    return { kind: 'text', path, text: readFileSync(join(projectDir, path), 'utf8') };
  } catch (error) {
    return unreadable(`${path} cannot be read: ${(error as Error).message}`);
  }
}

function unreadable(why: string): FindingsText {
  return { kind: 'unavailable', why };
}

function findingEntries(findings: readonly Finding[]): (Finding & Entry)[] {
  return findings.map((finding) => {
    const text = `${finding.id} ${finding.title}`.trim();
    return { ...finding, text, paragraph: text, isOpen: isOpen(finding) };
  });
}

/** Compares the findings that were seen open with those of the log. */
export function owedFindings(had: readonly string[], findings: readonly Finding[]) {
  return compareOwed(had, findingEntries(findings), (_, finding) => !finding.isOpen);
}

/**
 * Checks the findings log: failed while it has an open finding or lacks one that was `owed`; unavailable if it has text
 * but no recognised entry. Returns null if there is nothing to object to.
 */
export function checkFindingsLog(projectDir: string, logPath: string, owed: readonly string[]): CheckResult | null {
  const log = readFindingsLog(projectDir, logPath);
  if (log.kind === 'unavailable') return result('unavailable', log.why);
  const { findings, isUnread } = log.kind === 'text' ? readFindings(log.text) : { findings: [], isUnread: false };
  // The agent writes this log itself: an open finding refutes a claim, but an empty log proves nothing.
  const open = findings.filter(isOpen);
  const { missing } = owedFindings(owed, findings);
  const reasons = [
    ...(open.length > 0 ? [openText(open, log.path)] : []),
    ...(missing.length > 0 ? [goneText(log.path, missing)] : []),
  ];
  if (reasons.length > 0) return result('failed', reasons.join('\n'));
  return isUnread ? result('unavailable', unreadLogText(log.path)) : null;
}

function openText(open: readonly Finding[], path: string): string {
  const shown = open.slice(0, MAX_SHOWN).map(({ id, title, status }) => {
    const label = title === '' ? id : `${id} ${title.slice(0, 100)}`;
    if (status === 'OPEN') return label;
    if (status === DOUBTED) return `${label} (unclear: write FIXED_THIS_ITERATION alone in its cell or "Status:" line)`;
    return `${label} (${status === null ? 'has no Status line' : `Status ${status} is not FIXED_THIS_ITERATION`})`;
  });
  const more = open.length > MAX_SHOWN ? `, and ${open.length - MAX_SHOWN} more` : '';
  return `${open.length} open: ${shown.join(', ')}${more} (in ${path}).`;
}

function result(outcome: 'failed' | 'unavailable', detail: string): CheckResult {
  return { name: NAME, outcome, detail, refutesOnly: true };
}
