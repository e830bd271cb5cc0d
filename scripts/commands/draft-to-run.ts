import { relative } from 'node:path';
import { quoted } from '../../src/core/quoted.ts';
import { RalphError } from '../../src/core/ralph-error.ts';
import type { CommandContext } from './command.ts';
import { draftOf, placeFor } from './draft.ts';
import { writeTaskFile } from './new-task-folder.ts';
import { reviewDraft } from './review-draft.ts';

/**
 * Drafts a task folder from plain words, and gives the path of its RALPH.md where it is to be started: in a terminal
 * after the user has seen it, elsewhere only with --yes. null where it is not: it was kept for later, or cancelled.
 */
export async function draftToRun(context: CommandContext, words: string): Promise<string | null> {
  const { forPeople, values, out, err } = context;
  const draft = draftOf(context, words);
  const path = placeFor(context, draft);
  const shown = relative(process.cwd(), path);
  const agreed = values['yes'] === true;
  if (forPeople && process.stdin.isTTY === true && !agreed) {
    const { answer, text } = await reviewDraft(context, draft, shown);
    if (answer === 'cancel') {
      out('Cancelled; nothing was written.');
      return null;
    }
    writeTaskFile(path, text);
    err(`${shown} is there.`);
    return answer === 'start' ? path : null;
  }
  writeTaskFile(path, draft.text);
  for (const note of draft.notes) err(`ralph: ${note}`);
  err(`ralph: the draft is ${shown}.`);
  if (agreed) return path;
  throw new RalphError(
    'refused',
    `nobody has seen the draft ${shown} yet, so it was not started. Read it, then: main.cjs run ${quoted(shown)}. With --yes a draft is started at once.`,
  );
}
