import { ISSUE_TEXTS } from '../../../drive/parallel/messages.ts';
import { withPrefix } from '../../../drive/turn/messages.ts';
import { RalphError } from '../../../text/message.ts';
import type { CommandContext } from '../../command.ts';
import { QUOTED_ISSUE } from '../../task/draft.ts';

interface Wanted {
  readonly word: string;
  readonly url: string | null;
  readonly values: CommandContext['values'];
}

/** Returns the tasks that the command line names: as words, or as issues, whose text is only quoted. */
export async function wantedTasks({ values, positionals, projectDir, env, err }: CommandContext): Promise<Wanted[]> {
  const { issue, issues } = values;
  if (issue === undefined && issues === undefined) return positionals.map((word) => ({ word, url: null, values: {} }));
  const { issuesWith, issueText, readIssue } = await import('../../../drive/parallel/issues.ts');
  if ((issue !== undefined && issues !== undefined) || positionals.length > 0)
    throw new RalphError('usage', ISSUE_TEXTS.both);
  const from = { projectDir, env };
  const label = String(issues);
  const { taken, completed, left } =
    issues === undefined
      ? { taken: [readIssue(from, String(issue))], completed: [], left: 0 }
      : issuesWith(from, label);
  // Its pull request may wait for days, and the same command run again is no wish for a second one.
  for (const number of completed) err(withPrefix(ISSUE_TEXTS.leftOut(number)));
  if (left > 0) err(withPrefix(ISSUE_TEXTS.later(left, label)));
  if (taken.length === 0) throw new RalphError('refused', ISSUE_TEXTS.none(label));
  return taken.map((one) => ({
    word: `Fix issue #${one.number}.`,
    url: one.url,
    values: { [QUOTED_ISSUE]: issueText(one) },
  }));
}
