import { join } from 'node:path';
import { extraSections, realFindings } from '../../drive/prompt/extra-sections.ts';
import { readTask } from '../../drive/prompt/read-task.ts';
import { firstBaseline } from '../../drive/start/baseline.ts';
import { beginningState } from '../../drive/start/beginning-state.ts';
import { prepareWithMode } from '../../drive/start/prepare-contract.ts';
import type { Prepared, StartBaseline } from '../../drive/start/stages.ts';
import { unasked } from '../../drive/start/start-loop.ts';
import { unagreedSettings } from '../../drive/start/terms/agreed-settings.ts';
import { plainPrompt } from '../../drive/turn/file-task.ts';
import { promptWith } from '../../drive/turn/task-prompt.ts';
import { wholePrompt } from '../../engine/prompt/assemble-prompt.ts';
import { clientFinder } from '../../hosts/hosts.ts';
import { buildContract } from '../../task/settings/build-contract.ts';
import { printable } from '../../term/format.ts';
import { columnsOf } from '../../term/write-text.ts';
import { RalphError } from '../../text/message.ts';
import type { CommandContext } from '../command.ts';
import { RECOMMENDED } from '../permission-modes.ts';
import { LEFT, watchChecks } from '../start/first-checks.ts';
import { RUNNER, startRequest, startTarget } from '../start/start-request.ts';
import { startScreenLines } from '../start/start-screen.ts';
import { type Review, shownTask } from './review-start.ts';

/** Options whose start changes something before it is shown. */
const NOT_TO_BE_SHOWN = ['plan', 'tdd', 'resume', 'consent', 'worktree', 'fresh'];

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
  const own = { ...RUNNER, plan: null, clientArgs: rest };
  const asked = startRequest(context, target, { ...own, clientVersion: (host) => client(host).version });
  const { prepared } = prepareWithMode(asked, RECOMMENDED);
  const { terms, request, resolved } = prepared;
  const open = unagreedSettings(request, resolved);
  // What the user has not agreed to does not run for a look at it.
  const isAgreed = drafted.length > 0 || open.length === 0;
  const ran = isAgreed
    ? await watchChecks(context, async (options) => ({ baseline: await firstBaseline(prepared, options) }))
    : { baseline: null };
  if (ran === null) return LEFT;
  const lines = startScreenLines(
    {
      tasks: [shownTask(terms, join(context.projectDir, terms.taskPath))],
      checks: { kind: 'done', baseline: ran.baseline?.baseline ?? null },
      notes: [
        ...drafted.flatMap(({ notes }) => notes),
        ...(isAgreed ? [] : open.map(({ line }) => `to be agreed to: ${line}`)),
      ],
      foot: ['The prompt of the first iteration:'],
    },
    Math.min(columnsOf(1), 120),
    paint,
    Number.POSITIVE_INFINITY,
  );
  const prompt = printable(previewPrompt(prepared, ran.baseline));
  answer({ task: terms.taskPath, screen: lines, prompt }, () => `${lines.join('\n')}\n\n${prompt}`);
  return 0;
}

/** Id of a loop that is only looked at. */
const PREVIEWED = 'preview';
const NOTHING_TOLD = { notices: { rejection: [], misplacedSignal: null, warnings: [] }, steering: [] };

/** Returns the prompt with which the first iteration of a run would begin. Nothing is started or stored. */
function previewPrompt(prepared: Prepared, baseline: StartBaseline | null): string {
  const { request, files, terms } = prepared;
  const contract = { ...buildContract({ ...terms, loopId: PREVIEWED }).contract, evidence: {} };
  const state = beginningState(unasked(prepared), null, PREVIEWED);
  const text = readTask(files.projectDir, terms.taskPath);
  if (text === null) return '';
  const findings = realFindings(files, { hash: '', contract }, null);
  const now = (): string => request.at;
  const { task, policy } = contract;
  if (task !== null) {
    const asked = { files, contract, task, state, text, told: NOTHING_TOLD, findings, now, fresh: true };
    return wholePrompt(promptWith(asked, baseline?.evidence ?? []).prompt);
  }
  const beside = extraSections(files, contract, request.at, true);
  return wholePrompt(plainPrompt(files, state, policy, { ...NOTHING_TOLD, findings, body: text.body, beside }));
}
