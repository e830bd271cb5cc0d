import { join } from 'node:path';
import { firstBaseline } from '../../drive/start/baseline.ts';
import { prepareWithMode } from '../../drive/start/prepare-contract.ts';
import { previewStart } from '../../drive/start/preview-start.ts';
import { unagreedSettings } from '../../drive/start/terms/agreed-settings.ts';
import { clientFinder } from '../../hosts/hosts.ts';
import { printable } from '../../term/format.ts';
import { columnsOf } from '../../term/write-text.ts';
import { RalphError } from '../../text/message.ts';
import type { CommandContext } from '../command.ts';
import { RECOMMENDED } from '../permission-modes.ts';
import { LEFT, watchChecks } from '../start/first-checks.ts';
import { planToStart } from '../start/start-plan.ts';
import { RUNNER, startRequest, startTarget } from '../start/start-request.ts';
import { startScreenLines } from '../start/start-screen.ts';
import { type Review, shownTask } from './review-start.ts';

/** Options whose start changes something before it is shown. */
const NOT_TO_BE_SHOWN = ['tdd', 'resume', 'consent', 'worktree', 'fresh'];

/** Prints what a run would show and the prompt of its first iteration. Starts nothing. Returns the exit code. */
export async function dryRun(context: CommandContext, { drafted }: Review): Promise<number> {
  const { values, env, rest, answer, paint } = context;
  const stray = NOT_TO_BE_SHOWN.find((name) => values[name] !== undefined);
  if (stray !== undefined)
    throw new RalphError(
      'usage',
      `--dry-run shows the start of one new run, so it takes no ${stray === 'resume' ? stray : `--${stray}`}.`,
    );
  const client = clientFinder(env);
  const target = startTarget(context, 'run');
  const plan = await planToStart(context, target.files, target.task, false);
  const own = { ...RUNNER, plan, clientArgs: rest };
  const asked = startRequest(context, target, { ...own, clientVersion: (host) => client(host).version });
  const { prepared } = prepareWithMode(asked, RECOMMENDED);
  const { terms, request, resolved } = prepared;
  const open = unagreedSettings(request, resolved);
  // Nothing to which the user has not agreed runs for a preview.
  const isAgreed = drafted.length > 0 || open.length === 0;
  const ran = isAgreed
    ? await watchChecks(context, async (options) => ({ baseline: await firstBaseline(prepared, options) }))
    : { baseline: null };
  if (ran === null) return LEFT;
  const preview = await previewStart(prepared, ran.baseline);
  const lines = startScreenLines(
    {
      tasks: [shownTask(terms, join(context.projectDir, terms.taskPath))],
      checks: { kind: 'done', baseline: ran.baseline?.baseline ?? null },
      notes: [
        ...drafted.flatMap(({ notes }) => notes),
        ...(isAgreed ? [] : open.map(({ line }) => `to be agreed to: ${line}`)),
        ...preview.notes,
      ],
      foot: preview.prompt === '' ? [] : ['The prompt of the first iteration:'],
    },
    Math.min(columnsOf(1), 120),
    paint,
    Number.POSITIVE_INFINITY,
  );
  const prompt = printable(preview.prompt);
  answer({ task: terms.taskPath, screen: lines, prompt }, () => `${lines.join('\n')}\n\n${prompt}`.trimEnd());
  return 0;
}
