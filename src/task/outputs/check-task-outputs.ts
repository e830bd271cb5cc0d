import { posix } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import { goneText } from '../../engine/identity/messages.ts';
import type { TaskTerms } from '../../engine/schema/contract.ts';
import type { Seen } from '../../engine/schema/seen.ts';
import { PROGRESS_FILE } from '../memory/memory-paths.ts';
import { relativeTaskFolder, taskFolder } from '../task-file.ts';
import { checkQuestions, OPEN_QUESTIONS } from './open-questions.ts';
import { lookAtOutput } from './required-output.ts';

/** What the loop has seen of the files that these checks read. */
type SeenOfTask = Pick<Seen, 'questions' | 'outputs'>;

/**
 * Checks that the required outputs exist and are not empty, and OPEN_QUESTIONS.md without open P0 and P1 items. `taskPath` is
 * relative.
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
  if (lookAtOutput(folder, OPEN_QUESTIONS).kind !== 'absent') {
    return [...results, { ...checkQuestions(folder, shown, questions), refutesOnly: true }];
  }
  if (openQuestions === 'optional' && questions.length === 0) return results;
  const file = posix.join(shown, OPEN_QUESTIONS);
  const detail =
    questions.length === 0
      ? `${missing(shown, OPEN_QUESTIONS)} An empty list of open questions is fine.`
      : `${missing(shown, OPEN_QUESTIONS)} ${goneText(file, questions)}`;
  return [...results, { name: OPEN_QUESTIONS, outcome: 'failed', detail, refutesOnly: true }];
}

/** Returns the marks of the required outputs that are there already, by path, for `checkTaskOutputs`. */
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
  switch (output.kind) {
    case 'there': {
      const detail =
        before !== undefined && output.mark() === before ? 'it is as it was before the start.' : 'it exists.';
      return { name, outcome: 'ok', detail };
    }
    case 'absent':
      return { name, outcome: 'failed', detail: missing(shown, path) };
    case 'empty':
      return { name, outcome: 'failed', detail: `${whole} is empty.` };
    case 'foreign':
      return {
        name,
        outcome: 'failed',
        detail: `${whole} is not a regular file in the task folder: replace it with one.`,
      };
    default:
      return output satisfies never;
  }
}

function missing(shown: string, path: string): string {
  return `missing; create it as ${posix.join(shown, path)}.`;
}
