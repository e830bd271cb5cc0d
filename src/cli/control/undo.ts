import { dirname, join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isDriverAlive } from '../../drive/control/ownership.ts';
import { archivedBatches, findBatch } from '../../drive/parallel/batch.ts';
import { storedEnd } from '../../drive/status/end-report.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { StateOf } from '../../engine/schema/state.ts';
import { recordNotice } from '../../state/event-stream.ts';
import { filesAtEnd, lossBy, lossIn, proveContract } from '../../state/evidence/evidence.ts';
import { takeHold } from '../../state/lock/hold.ts';
import { findEndedContract, type LoopFiles, orLogged } from '../../state/loop-files.ts';
import { callHere } from '../../state/process/program.ts';
import { pinsAtEnd } from '../../task/git/git-view.ts';
import { startPointOf } from '../../task/git/start-point.ts';
import { freeBytes } from '../../task/undo/put-files.ts';
import { applyUndo, type LeftAlone, planUndo, type UndoPlan, undoBack } from '../../task/undo/undo.ts';
import { workTimes } from '../../task/undo/work-times.ts';
import { printable } from '../../term/format.ts';
import { about, advise, commandLine, RalphError } from '../../text/message.ts';
import { shellWord } from '../../text/quote.ts';
import { redact } from '../../text/redact/redact.ts';
import { agrees } from '../ask.ts';
import { endedLoop, liveLoops, tellOfRun } from '../choose-loop.ts';
import { type Command, type CommandContext, options } from '../command.ts';

const WHY: Readonly<Record<LeftAlone['why'], string>> = {
  'changed-since': 'changed after the loop ended',
  users: 'changed while no call of the loop ran',
  repository: 'a submodule or a repository of its own',
  'was-ignored': 'ignored by git at the start, which did not record it',
  folder: 'a folder and a file are in each other’s place',
};
const MOST_SHOWN = 40;

export const UNDO_COMMAND: Command = {
  name: 'undo',
  usage: '[NAME | TASK] [--back] [--dry-run] [--yes [--new-files]]',
  help: 'Shows what it would do, asks, and brings the files of the project back as they were when the loop started; new files stay unless you say otherwise. What changed after the loop or outside its calls is left alone and named. The state before the undo is kept: `undo --back` returns to it.',
  example: 'ralph-loop undo docs --dry-run',
  options: options({
    back: 'Take back the last undo.',
    'dry-run': 'Show what would be done.',
    yes: 'Do it without a question; new files stay.',
    'new-files': 'With --yes: remove the new files as well.',
  }),
  control: true,
  run(context) {
    const { back: isBack, 'dry-run': isDry } = context.values;
    if (isDry === true && isBack === true) throw new RalphError('usage', 'undo takes --back or --dry-run, not both.');
    tellOfRun(context, ' git revert takes back the commit of a task.');
    const loop = loopToUndo(context);
    return isDry === true ? undo(context, loop) : alone(context, loop, isBack === true ? back : undo);
  },
};

type UndoneLoop = ReturnType<typeof endedLoop>;

/** Returns the loop to undo. Throws `no-loop`; if its work was integrated, with the commands that revert it. */
function loopToUndo(context: CommandContext): UndoneLoop {
  const { projectDir, env, positionals } = context;
  try {
    return endedLoop(context, positionals[0]);
  } catch (error) {
    if (!(error instanceof RalphError) || error.code !== 'no-loop') throw error;
    const left = findBatch(projectDir, env);
    const delivered = [...archivedBatches(projectDir, env), { batch: left instanceof RalphError ? null : left }]
      .flatMap(({ batch }) => batch?.tasks ?? [])
      .findLast(({ name, end }) => end?.delivery && end.integrated && name === (positionals[0] ?? name));
    const { how, tip, from, commit } = delivered?.end?.delivery ?? {};
    if (delivered === undefined || from === undefined || commit === undefined) throw error;
    const of = how === 'merge' && commit !== tip ? `-m 1 ${shellWord(commit)}` : shellWord(`${from}..${commit}`);
    const text = `The work of ${delivered.name} was integrated and its worktree removed.`;
    throw new RalphError('no-loop', `${text} To take it back: git revert --no-edit ${of}`, error);
  }
}

/** Undoes while neither another loop nor another undo changes the same files. Throws `refused` otherwise. */
async function alone(
  context: CommandContext,
  loop: UndoneLoop,
  act: (context: CommandContext, loop: UndoneLoop) => Promise<number>,
): Promise<number> {
  const { projectDir, contract } = loop.files;
  for (const { files, found, status } of liveLoops(context)) {
    if (files.projectDir !== projectDir || status === 'paused' || found.kind !== 'loop') continue;
    const isAlive = isDriverAlive(files, found.state);
    // For some sessions, no process is known; a loop without a session changes nothing.
    if (isAlive === false || (isAlive === null && found.state.sessionId === null)) continue;
    const text = 'Another loop is working on these files, so nothing was changed.';
    throw new RalphError('refused', about(advise(text, 'Stop it first', 'stop'), found.state));
  }
  const hold = takeHold(join(dirname(contract), 'undo'));
  if (hold === null)
    throw new RalphError('refused', 'Another undo is running in this project. Nothing was changed. Try again later.');
  try {
    return await act(context, loop);
  } finally {
    hold.release();
  }
}

async function undo(context: CommandContext, { files, state }: UndoneLoop): Promise<number> {
  const { env, values, answer, mayAsk } = context;
  const { loopId } = state;
  const contract = contractOf(files, loopId);
  const { start, rules } = startOf(files, contract);
  if (start === null) {
    throw new RalphError('refused', 'This loop cannot be undone, because its start was not recorded in git.');
  }
  const facts = {
    ignores: ['excludes', 'info/exclude'].flatMap((name) => rules[name] ?? []),
    sandbox: contract.sandbox,
    start: start.tree,
    end: storedEnd(files, state)?.end ?? null,
    ...workTimes(files, loopId, contract.agent === undefined),
    startedAt: Date.parse(state.startedAt),
    freeBytes,
  };
  const plan = await planUndo(files.projectDir, env, facts);
  const place = placeOf(context, files);
  const shown = {
    commits: plan.commits.map(text),
    files: texts(plan, plan.bring),
    newFiles: texts(plan, plan.added),
    behindNewFiles: texts(plan, plan.behind),
    left: leftTexts(plan.around.prefix, plan.left),
  };
  const lineFor = (options = {}): string =>
    commandLine({ command: 'undo', options }, { name: files.name, mode: state.mode, ...callHere() });
  const isNothing = plan.bring.length + plan.added.length + plan.commits.length === 0;
  if (values['dry-run'] === true || isNothing) {
    const next = isNothing ? '' : `\n${context.paint('dim', `To undo: ${lineFor()}`)}`;
    answer({ undone: false, ...shown }, () => planText(plan, place) + next);
    return 0;
  }
  if (values['yes'] !== true && !mayAsk) throw new RalphError('usage', needsPerson(lineFor({ 'dry-run': true })));
  if (context.forPeople) context.out(planText(plan, place));
  const removesNew = values['yes'] === true ? values['new-files'] === true : await agreesToRemove(plan);
  if (removesNew === null) throw new RalphError('refused', 'Nothing was changed.');
  // A question may wait for hours.
  if (values['yes'] !== true && !isDeepStrictEqual(await planUndo(files.projectDir, env, facts), plan))
    throw new RalphError('refused', 'The project changed meanwhile, so nothing was undone. Run the command again.');
  const isUndone = removesNew || plan.bring.length + plan.commits.length > 0;
  if (isUndone) {
    await applyUndo(plan, { ...facts, loopId }, removesNew);
    noted(context, files, state, 'undo');
  }
  const [said, advice, next] = isUndone
    ? [`Undone${place}.`, 'To take it back', { back: true }]
    : ['Nothing was undone: new files stay.', 'To remove them', { yes: true, 'new-files': true }];
  answer(
    { undone: isUndone, removedNewFiles: removesNew, ...shown },
    () => `${said} ${context.paint('dim', `${advice}: ${lineFor(next)}`)}`,
  );
  return 0;
}

const needsPerson = (line: string): string => `undo needs your yes, at a terminal or as --yes. Look first: ${line}`;

/** Returns whether new files are removed as well; null if the user declines the undo. */
async function agreesToRemove({ added }: UndoPlan): Promise<boolean | null> {
  if (!(await agrees('Undo this?'))) return null;
  const what = added.length === 1 ? 'new file' : `${added.length} new files`;
  return added.length > 0 && agrees(`Remove the ${what} as well?`);
}

async function back(context: CommandContext, { files, state }: UndoneLoop): Promise<number> {
  const { loopId } = state;
  const contract = contractOf(files, loopId);
  const left = await undoBack(files.projectDir, context.env, { loopId, sandbox: contract.sandbox, freeBytes });
  noted(context, files, state, 'undo-back');
  const shown = leftTexts('', left);
  context.answer({ back: true, left: shown }, () =>
    [`The undo${placeOf(context, files)} was taken back.`, ...shown.map((text) => `Left alone: ${text}`)].join('\n'),
  );
  return 0;
}

/** Records what the user has done with the loop's work, for explain, if it can be stored. */
function noted({ now }: CommandContext, files: LoopFiles, state: StateOf<'ended'>, kind: 'undo' | 'undo-back'): void {
  const notice = { at: now(), kind, text: 'by the user.' };
  orLogged(files, notice.at, 'journal', () => recordNotice(files, state, notice));
}

/** Returns the contract of the loop, which names the sandbox for its git. Throws `refused` if it is lost. */
function contractOf(files: LoopFiles, loopId: string): Contract {
  const found = findEndedContract(files, loopId);
  if (found !== null && lossBy(() => proveContract(filesAtEnd(files))) === null) return found.contract;
  throw new RalphError('refused', `${files.contract}.ended is missing or was edited. Restore it; nothing was changed.`);
}

/** Returns the loop's start point, null if it has none, and git's rules then, by name. Throws `refused` if one is lost. */
function startOf(files: LoopFiles, contract: Contract) {
  try {
    return { start: startPointOf(files, contract), rules: pinsAtEnd(files, contract)?.texts ?? {} };
  } catch (error) {
    throw new RalphError('refused', `${lossIn(error).text} Nothing was changed.`, error);
  }
}

/** Returns git's output, whose characters are its bytes, for a screen. */
const text = (printed: string): string => redact(printable(Buffer.from(printed, 'latin1').toString()));

function texts({ around }: UndoPlan, paths: readonly string[]): string[] {
  return paths.map((path) => text(path.slice(Buffer.byteLength(around.prefix))));
}

function leftTexts(prefix: string, left: readonly LeftAlone[]): string[] {
  return left.map(({ path, why }) => `${text(path.slice(Buffer.byteLength(prefix)))} (${WHY[why]})`);
}

/** Returns words for the worktree of a loop, to whose branch and files an undo is limited; '' for a loop of the project. */
function placeOf({ projectDir }: CommandContext, files: LoopFiles): string {
  return files.projectDir === projectDir ? '' : printable(` in ${relative(projectDir, files.projectDir)}`);
}

function planText(plan: UndoPlan, place: string): string {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['Commits to take back; their changes are undone with the files:', plan.commits.map(text)],
    ['Files to bring back:', texts(plan, plan.bring)],
    ['New since the start:', texts(plan, plan.added)],
    ['To come back only if you remove the new files in their place:', texts(plan, plan.behind)],
    ['Left alone:', leftTexts(plan.around.prefix, plan.left)],
  ];
  const lines = rows.flatMap(([heading, items]) => {
    if (items.length === 0) return [];
    const more = items.length > MOST_SHOWN ? [`  and ${items.length - MOST_SHOWN} more`] : [];
    return [heading, ...items.slice(0, MOST_SHOWN).map((item) => `  ${item.replaceAll('\n', '\\n')}`), ...more];
  });
  if (lines.length === 0) return `Nothing changed${place} since the start.`;
  if (plan.convertsLineEnds) lines.push('Line ends come back as git writes them (core.autocrlf, .gitattributes).');
  return [...(place === '' ? [] : [`Only${place}:`]), ...lines].join('\n');
}
