import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { noLiveLoop } from '../../drive/control/operate.ts';
import { presentState } from '../../drive/control/present-state.ts';
import { lastLoopIn, taskLoopName } from '../../drive/start/find-task.ts';
import { renewEvidence } from '../../drive/start/live/renew-evidence.ts';
import { formerEvidence, lossOf } from '../../drive/start/resume/former-evidence.ts';
import { describeLoop } from '../../drive/status/loop-report.ts';
import { LAUNCH_TEXTS, START_TEXTS } from '../../drive/turn/messages.ts';
import { projectOfLoop } from '../../drive/worktree/worktree-place.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { bundleDir } from '../../install/project-files.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { findContract, findEndedContract, LOOP_NAME, loopFiles, readState } from '../../state/loop-files.ts';
import { readGitPins } from '../../task/git/git-pins.ts';
import { about, advise, RalphError } from '../../text/message.ts';
import { askInPerson } from '../ask.ts';
import {
  activeText,
  chosenLoop,
  isNamed,
  liveLoops,
  liveLoopsOn,
  loopToResume,
  needsDriver,
  onePath,
  taskPlace,
} from '../choose-loop.ts';
import type { Command, CommandContext } from '../command.ts';
import { OPERATIONS, operateOn } from '../control/operator-commands.ts';
import { ROUTER_COMMAND } from '../setup/router.ts';
import { START_COMMAND } from '../start/start.ts';
import { NEW_START } from '../start/start-request.ts';
import { leftRun, ONE_LOOP, runOfPart } from './left-run.ts';
import { RUN_COMMAND } from './run.ts';

const STARTERS: Readonly<Record<LoopState['mode'], { readonly command: Command; readonly words: readonly string[] }>> =
  {
    hook: { command: START_COMMAND, words: [] },
    runner: { command: RUN_COMMAND, words: [] },
    router: { command: ROUTER_COMMAND, words: ['start'] },
  };

/** Options of a start that select the loop or what happens to it. */
const OF_A_START = ['task', 'path', 'resume', 'fresh', 'consent', 'mode'];

const OPTIONS = Object.fromEntries(
  Object.entries({ ...RUN_COMMAND.options, ...START_COMMAND.options }).filter(([name]) => !OF_A_START.includes(name)),
);

export const RESUME_COMMAND: Command = {
  name: 'resume',
  usage: '[NAME | PATH] [options] [-- CLIENT OPTIONS]',
  help: 'Resumes a loop in its own mode, with its counters: a run loop here, a session loop in its session or a new one, a router loop in the next session. The PATH of a task folder (./docs) without a loop starts a run. By default it resumes the last run of several tasks, if it was left, or the only loop that can be resumed.',
  example: 'ralph-loop resume docs',
  options: OPTIONS,
  control: true,
  run(context) {
    const word = onePath('resume', context.positionals);
    if (word === null) {
      const left = leftRun(context);
      if (left !== null) return startDriver(left, 'runner', { resume: true }, left.files);
      // The loop named by --loop or the only live one, else the last ended one, else the only one that awaits consent.
      const isLive =
        context.files.name !== null || liveLoops(context).some(({ status }) => status !== 'awaiting-consent');
      return resumeLoop(context, isLive ? chosenLoop(context, 'resume') : loopToResume(context, 'resume'));
    }
    if (liveLoopsOn(context, word).length > 0) {
      const files = chosenLoop(context, 'resume');
      if (!isNamed(files, word)) requireResumable(word, files);
      return resumeLoop(context, files);
    }
    const ended = endedLoop(context, word);
    return ended === null ? newRun(context, word) : resumeLoop(context, ended);
  },
};

/** Returns the ended loop of this name, of the project or a worktree; null if none, or if complete and the word is a path. */
function endedLoop({ projectDir, env }: CommandContext, word: string): LoopFiles | null {
  if (!LOOP_NAME.test(word)) return null;
  const files = loopFiles(projectOfLoop(projectDir, word, env), word, env);
  if (describeLoop(files, env).lost !== null) return files;
  const last = lastLoopIn(files);
  const isDone = last?.status === 'ended' && last.ended.as === 'complete';
  return last === null || (isDone && existsSync(resolve(word))) ? null : files;
}

/** What a resume without the former contract says before the user agrees. */
const OPTIONS_LOST =
  '  The options of its start, such as --agent, --max-cost and --sandbox, are lost with it. To give them again, answer no, end any session that holds the loop, and add them to the command.';

/** Resumes a loop in its running driver, or starts a new driver. */
async function resumeLoop(context: CommandContext, files: LoopFiles): Promise<number> {
  const state = lastLoopIn(files);
  if (state?.status === 'awaiting-consent') return giveConsent(context, files, state);
  const isPaused = state?.status === 'paused' && state.paused.reason === 'evidence-lost';
  const loss = state !== null && (isPaused || needsDriver(files, state)) ? lossOf(files, state) : null;
  if (state !== null && (isPaused || loss !== null)) {
    const known = loss?.text ?? (state.status === 'paused' ? state.paused.message : '');
    const lines = [`  ${known}`, '  A project that was moved or copied comes without it.'];
    if (formerEvidence(files, state).former === null) lines.push(OPTIONS_LOST);
    const question = 'Take the state of this moment as a new start?';
    askInPerson(files, {
      command: 'resume',
      heading: 'The loop cannot go on as it is:',
      lines,
      question,
      declined: 'the loop stays as it is.',
      refusal: about(advise(known, 'Take the present state as a new start at a terminal', 'resume'), state),
    });
    if (!needsDriver(files, state)) {
      requireNoOptions(context, files);
      const { answer, now, env } = context;
      const pins = await readGitPins(files.projectDir, { env });
      const done = renewEvidence(files, env, now(), bundleDir(), pins);
      const message = OPERATIONS.resume.answer(done);
      answer({ success: true, message }, () => message);
      return 0;
    }
  }
  const { lost } = describeLoop(files, context.env);
  if (lost === null && (state === null || !needsDriver(files, state))) return operateResume(context, files);
  const run = state !== null && loss === null ? runOfPart(context, files, state) : null;
  if (run !== null) return startDriver(run, 'runner', { resume: true }, run.files);
  const mode = lost?.mode ?? state?.mode ?? 'hook';
  const launched = mode === 'hook' ? launchOf(context, files, state) : {};
  const values = {
    resume: true,
    [NEW_START]: isPaused || loss !== null,
    [ONE_LOOP]: true,
    ...launched,
    ...(files.name !== null && { loop: files.name }),
  };
  // A worktree's runner is started from the project, which finds it by name; every other loop, where its files are.
  const isFound = mode === 'runner' && projectOfLoop(context.projectDir, files.name, context.env) === files.projectDir;
  const projectDir = isFound ? context.projectDir : files.projectDir;
  return startDriver({ ...context, projectDir }, mode, values, loopFiles(projectDir, files.name, context.env));
}

/** Returns the options that relaunch a session's loop: headless if it was, otherwise only if the user is at a terminal. */
function launchOf({ mayAsk }: CommandContext, files: LoopFiles, state: LoopState | null): CommandContext['values'] {
  const found = findContract(files);
  const stored = typeof found === 'string' ? state && findEndedContract(files, state.loopId) : found;
  if (stored?.contract.headless === true) return { launch: true, headless: true };
  return mayAsk ? { launch: true } : {};
}

/** Runs the command that drives loops of this mode. */
function startDriver(
  context: CommandContext,
  mode: LoopState['mode'],
  values: CommandContext['values'],
  files: LoopFiles,
): Promise<number> | number {
  const { command, words } = STARTERS[mode];
  const stray = givenOptions(context).find((name) => !Object.hasOwn(command.options ?? {}, name));
  if (stray !== undefined)
    throw new RalphError('usage', `--${stray} is not an option of ralph-loop ${command.name}, which drives this loop.`);
  return command.run({ ...context, values: { ...context.values, ...values }, positionals: words, files });
}

/** Shows the user a loop that an agent requested and asks for consent: resuming it means agreeing to it. */
function giveConsent(context: CommandContext, files: LoopFiles, { mode }: LoopState): Promise<number> | number {
  if (process.stdin.isTTY !== true && context.values['yes'] !== true)
    throw new RalphError('refused', about(START_TEXTS.needsConsent, { name: files.name, mode }));
  const { command } = mode === 'runner' ? STARTERS.runner : STARTERS.hook;
  const own = { consent: true, ...(files.name !== null && { loop: files.name }) };
  return command.run({ ...context, values: { ...context.values, ...own }, positionals: [], files });
}

/** Throws `refused` for an active loop, and for a state file that cannot be used. */
function requireResumable(path: string, files: LoopFiles): void {
  const found = presentState(files);
  if (found.kind !== 'loop') throw noLiveLoop(files, found.kind);
  const { status } = found.state;
  if (status === 'paused' || status === 'awaiting-consent' || needsDriver(files, found.state)) return;
  throw new RalphError('refused', activeText(path, status));
}

function operateResume(context: CommandContext, files: LoopFiles): number {
  requireNoOptions(context, files);
  if (files.name === null && readState(files.state).kind === 'absent')
    throw new RalphError('no-loop', START_TEXTS.nothingToResume);
  return operateOn(files, OPERATIONS.resume, context);
}

/** Throws `usage` for options of a start, which a driver that still runs would not take. */
function requireNoOptions(context: CommandContext, files: LoopFiles): void {
  const { rest } = context;
  if (rest.length > 0) throw new RalphError('usage', LAUNCH_TEXTS.forLaunch(rest));
  const stray = givenOptions(context)[0];
  if (stray !== undefined && readState(files.state).kind === 'loop')
    throw new RalphError('usage', advise(`--${stray} is for a new run.`, 'Start one', `resume PATH --${stray}`));
}

function givenOptions({ values }: CommandContext): string[] {
  return Object.keys(OPTIONS).filter((name) => values[name] !== undefined);
}

function newRun(context: CommandContext, path: string): Promise<number> | number {
  const { dir, taskPath } = taskPlace(context.projectDir, path);
  if (!existsSync(join(dir, basename(taskPath))))
    throw new RalphError('usage', advise(`${taskPath} is missing. Restore it.`, 'Or create another', 'scaffold NAME'));
  const { projectDir, env, files } = context;
  const name = taskLoopName(projectDir, taskPath, env);
  const own = loopFiles(projectOfLoop(projectDir, name, env), name, env);
  const last = lastLoopIn(own);
  // The task of a loop in a worktree is there.
  if (own.projectDir !== projectDir && last !== null) return resumeLoop(context, own);
  return startDriver(context, last?.mode ?? 'runner', { task: join(projectDir, taskPath) }, files);
}
