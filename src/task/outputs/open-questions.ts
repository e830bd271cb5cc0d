import { join } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import { evadedQuestionsText, goneText, UNREAD_QUESTIONS } from '../../engine/identity/messages.ts';
import { compareQuestions, type QuestionsFile, readQuestions } from '../../engine/identity/questions.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { excerpt } from '../../text/quote.ts';
import { isProjectFile } from '../project-file.ts';
import { taskFolder } from '../task-file.ts';

export const OPEN_QUESTIONS = 'OPEN_QUESTIONS.md';
const MAX_BYTES = 1024 * 1024;
const MAX_SHOWN = 20;
const TEXT_SHOWN = 120;

/** Returns the questions of a task; null if the file is missing, too large or not a regular file in the task's folder. */
export function questionsFile(folder: string): QuestionsFile | null {
  const text = isProjectFile(folder, OPEN_QUESTIONS) ? readRegularFile(join(folder, OPEN_QUESTIONS), MAX_BYTES) : null;
  return text === null ? null : readQuestions(text);
}

/** Returns the open questions of a task's OPEN_QUESTIONS.md; none if it cannot be read. */
export function questionsOf(projectDir: string, taskPath: string): string[] {
  const { questions } = questionsFile(taskFolder(projectDir, taskPath)) ?? { questions: [] };
  return questions.filter(({ isOpen }) => isOpen).map(({ section, text }) => `${section}: ${text}`);
}

/** Checks that nothing is open under P0 and P1, and that every question that was `owed` is answered. */
export function checkQuestions(folder: string, shown: string, owed: readonly string[]): CheckResult {
  const name = OPEN_QUESTIONS;
  const path = `${shown === '.' ? '' : `${shown}/`}${name}`;
  if (!isProjectFile(folder, name)) {
    return {
      name,
      outcome: 'failed',
      detail: `${path} is not a regular file in the task folder: replace it with one.`,
    };
  }
  const file = questionsFile(folder);
  if (file === null)
    return { name, outcome: 'unavailable', detail: `it cannot be read, or has more than ${MAX_BYTES} bytes.` };
  const open = file.questions.filter(({ isOpen }) => isOpen);
  const { missing, evaded } = compareQuestions(owed, file.questions);
  const reasons = [
    ...(open.length > 0 ? [openText(open)] : []),
    ...(missing.length > 0 ? [goneText(path, missing)] : []),
    ...(evaded.length > 0 ? [evadedQuestionsText(evaded)] : []),
  ];
  if (reasons.length > 0) return { name, outcome: 'failed', detail: reasons.join('\n') };
  if (file.isUnread) return { name, outcome: 'unavailable', detail: UNREAD_QUESTIONS };
  return { name, outcome: 'ok', detail: 'nothing is open under P0 and P1.' };
}

function openText(open: QuestionsFile['questions']): string {
  const shown = open
    .slice(0, MAX_SHOWN)
    .map(({ section, line, text }) => `${section}, line ${line}: ${excerpt(text, TEXT_SHOWN)}`);
  const more = open.length > MAX_SHOWN ? [`and ${open.length - MAX_SHOWN} more`] : [];
  const hint = 'Answer each, behind it or below it, and check it off as "- [x]".';
  return [`${open.length} open. ${hint}`, ...shown, ...more].join('\n');
}
