import { lstatSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import type { TaskTerms } from '../../engine/schema/contract.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { readLists } from '../../text/markdown/lists.ts';
import { orElse } from '../../text/or-else.ts';
import { isProjectFile } from '../project-file.ts';
import { PROGRESS_FILE } from '../settings/defaults.ts';
import { relativeTaskFolder, taskFolder } from '../task-file.ts';

const OPEN_QUESTIONS = 'OPEN_QUESTIONS.md';
const MAX_BYTES = 1024 * 1024;
const MAX_SHOWN = 20;
const TEXT_SHOWN = 120;

/** Checks that the required outputs exist, and OPEN_QUESTIONS.md without open P0 and P1 items. `taskPath` is relative. */
export function checkTaskOutputs(
  projectDir: string,
  taskPath: string,
  { requiredOutputs = [], openQuestions: questions }: Partial<TaskTerms>,
): CheckResult[] {
  const folder: Folder = { path: taskFolder(projectDir, taskPath), shown: relativeTaskFolder(taskPath) };
  const results = requiredOutputs.filter((path) => path !== PROGRESS_FILE).map((path) => checkOutput(folder, path));
  const isOptional = questions === 'optional' && !isThere(join(folder.path, OPEN_QUESTIONS));
  return isOptional ? results : [...results, checkQuestions(folder)];
}

/** Returns the files that a required gate needs and that do not exist yet, relative to the project. */
export function missingFiles(projectDir: string, taskPath: string, terms: TaskTerms): string[] {
  if (terms.gate !== 'required') return [];
  const questions = terms.openQuestions === 'optional' ? [] : [OPEN_QUESTIONS];
  return [...terms.requiredOutputs.filter((path) => path !== PROGRESS_FILE), ...questions]
    .filter((path) => !isThere(join(taskFolder(projectDir, taskPath), path)))
    .map((path) => posix.join(relativeTaskFolder(taskPath), path));
}

interface Folder {
  readonly path: string;
  readonly shown: string;
}

function checkOutput(folder: Folder, path: string): CheckResult {
  const name = `required output ${path}`;
  if (isProjectFile(folder.path, path)) return { name, outcome: 'ok', detail: 'it exists.' };
  const detail = isThere(join(folder.path, path)) ? noFile(folder, path) : missing(folder, path);
  return { name, outcome: 'failed', detail };
}

function missing(folder: Folder, path: string): string {
  return `missing; create it as ${posix.join(folder.shown, path)}.`;
}

function noFile(folder: Folder, path: string): string {
  return `${posix.join(folder.shown, path)} is not a regular file in the task folder: replace it with one.`;
}

/** Returns whether something has this name, including a dangling link. */
function isThere(path: string): boolean {
  // A folder on the way is inaccessible, or not a folder.
  return orElse(() => lstatSync(path, { throwIfNoEntry: false }) !== undefined, false);
}

function checkQuestions(folder: Folder): CheckResult {
  const name = OPEN_QUESTIONS;
  const path = join(folder.path, name);
  if (!isThere(path)) {
    return { name, outcome: 'failed', detail: `${missing(folder, name)} An empty list of open questions is fine.` };
  }
  if (!isProjectFile(folder.path, name)) return { name, outcome: 'failed', detail: noFile(folder, name) };
  const text = readRegularFile(path, MAX_BYTES);
  if (text === null) {
    return { name, outcome: 'unavailable', detail: `it cannot be read, or has more than ${MAX_BYTES} bytes.` };
  }
  const open = openQuestions(text);
  if (open.length === 0) return { name, outcome: 'ok', detail: 'nothing is open under P0 and P1.' };
  const shown = open.slice(0, MAX_SHOWN).map(({ section, line, text: said }) => {
    return `${section}, line ${line}: ${said.length > TEXT_SHOWN ? `${said.slice(0, TEXT_SHOWN)}…` : said}`;
  });
  const more = open.length > MAX_SHOWN ? [`and ${open.length - MAX_SHOWN} more`] : [];
  const hint = 'Answer each and check it off as "- [x]", or take it out.';
  return { name, outcome: 'failed', detail: [`${open.length} open. ${hint}`, ...shown, ...more].join('\n') };
}

/** Unchecked list item under a P0 or P1 heading. */
interface OpenQuestion {
  /** Innermost section that contains it; `P0` for a heading that names both. */
  readonly section: 'P0' | 'P1';
  readonly line: number;
  readonly text: string;
}

const SECTION = /^[^\p{L}\p{N}]*P([01])(?:\s*\/\s*P([01]))?(?![\p{L}\p{N}])/iu;

/** Returns the open questions of a task's OPEN_QUESTIONS.md; none if it cannot be read. */
export function questionsOf(projectDir: string, taskPath: string): string[] {
  const folder = taskFolder(projectDir, taskPath);
  const text = isProjectFile(folder, OPEN_QUESTIONS) && readRegularFile(join(folder, OPEN_QUESTIONS), MAX_BYTES);
  return openQuestions(text || '').map(({ section, text: said }) => `${section}: ${said}`);
}

/** Returns unchecked list items under P0 and P1 headings. Prose, code, comments and quotes do not count. */
export function openQuestions(text: string): OpenQuestion[] {
  let sections: { readonly name: 'P0' | 'P1'; readonly level: number }[] = [];
  const found: OpenQuestion[] = [];
  readLists(text, {
    heading: (title, level) => {
      // A heading ends the sections of its own level and below, and may open one.
      sections = sections.filter((section) => section.level < level);
      const [, first, second] = SECTION.exec(title.replace(/[*_]/g, '')) ?? [];
      if (first !== undefined) sections.push({ name: first === '0' || second === '0' ? 'P0' : 'P1', level });
    },
    item: ({ checked, inDone, line, text: said }) => {
      const section = sections.at(-1)?.name;
      // A plain item below a checked one is a note.
      if (section !== undefined && (checked === null ? !inDone : !checked)) found.push({ section, line, text: said });
    },
  });
  return found;
}
