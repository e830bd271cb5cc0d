import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { checkExistingLoop } from '../../drive/start/beginning-state.ts';
import { lastLoopIn, lastTaskOf, taskLoopName, taskPathOf } from '../../drive/start/find-task.ts';
import { CLIENT_KEYS } from '../../drive/start/read-settings.ts';
import { formerEvidence } from '../../drive/start/resume/former-evidence.ts';
import type { StartRequest } from '../../drive/start/stages.ts';
import { START_TEXTS } from '../../drive/turn/messages.ts';
import type { SkillInput } from '../../engine/schema/skill-contract.ts';
import { bundledText } from '../../install/files/planned-files.ts';
import { bundleDir } from '../../install/project-files.ts';
import { lossBy, proveContract } from '../../state/evidence/evidence.ts';
import { modeOf, writeAtomically } from '../../state/files/regular-file.ts';
import { findContract, type LoopFiles, loopFiles, readState } from '../../state/loop-files.ts';
import { snakeCase } from '../../task/frontmatter/canonical-keys.ts';
import { readArguments } from '../../task/settings/build-contract.ts';
import { DEFAULT_TASK, hasFolder, taskKind } from '../../task/task-file.ts';
import { printable } from '../../term/format.ts';
import { RalphError } from '../../text/message.ts';
import { readInput } from '../ask.ts';
import { loopAwaitingConsent, loopToResume, pathNamed, readTaskText } from '../choose-loop.ts';
import { type CommandContext, valuesOf } from '../command.ts';
import { planToStart } from './start-plan.ts';

export type StartTarget = ReturnType<typeof startTarget>;

/** Parts of the request that `start`, `run` and `router start` set differently. */
type OwnTerms = Pick<
  StartRequest,
  'mode' | 'plan' | 'clientVersion' | 'clientArgs' | 'consented' | 'headless' | 'launched' | 'fixed' | 'host'
>;

/** Terms of every start of a loop that a runner drives. */
export const RUNNER = { mode: 'runner', headless: true, launched: true, consented: true } as const;

/** Key for a run of its own draft: digests of settings to which its start agrees; not a command-line option. */
export const AGREED_BY_START = 'agreed by start';

/** Key set by `resume` after a person at its terminal has agreed; not a command-line option. */
export const NEW_START = 'new start';

/** Builds the request of `start`, `run` and `router start` from their command line. */
export function startRequest(context: CommandContext, target: StartTarget, own: OwnTerms): StartRequest {
  const { values, env, projectDir } = context;
  const { files, formerFlags, ...task } = target;
  return {
    projectDir,
    name: files.name,
    ...task,
    flags: keptFlags(formerFlags, startFlags(context)),
    env,
    at: context.now(),
    existing: existingLoopPolicy(values),
    takesNewStart: values[NEW_START] === true,
    agreed: valuesOf(context, AGREED_BY_START),
    tdd: values['tdd'] === true,
    bundleDir: bundleDir(),
    ...own,
  };
}

/**
 * Builds the request, with the plan that it names. `mayAsk`: a branch and checks may be offered for it. Throws RalphError with
 * its problems; before any of them, `refused` if the start must not touch the existing loop.
 */
export async function requestStart(
  context: CommandContext,
  target: StartTarget,
  own: Omit<OwnTerms, 'plan'>,
  mayAsk: boolean,
): Promise<StartRequest> {
  const request = startRequest(context, target, own);
  checkExistingLoop(readState(target.files.state), request, target.files);
  return { ...request, plan: await planToStart(context, target.files, target.task, mayAsk) };
}

export function existingLoopPolicy(values: CommandContext['values']): StartRequest['existing'] {
  if (values['resume'] === true) return 'resume';
  return values['fresh'] === true ? 'fresh' : 'refuse';
}

const SETTINGS = 'max-tasks max-iterations permission-mode model effort agent worktree-setup reflect-every'.split(' ');
const BUDGETS = 'max-time max-cost max-tokens'.split(' ');

/** Returns the settings given as options, by key path of the frontmatter. */
export function startFlags(context: CommandContext): Record<string, string> {
  const { values, rest } = context;
  const mode = modeIn(rest);
  const flags = [
    ...(mode === null ? [] : [['permission_mode', mode]]),
    ...(values['no-accept'] === true ? [['accept', 'never']] : []),
    ...(values['no-baseline'] === true ? [['baseline', 'false']] : []),
    ...SETTINGS.map((option) => [option.replace('-', '_'), values[option]]),
    ...BUDGETS.map((option) => [`budget.${option.replace('-', '_')}`, values[option]]),
    ...(values['sandbox'] === true ? [['sandbox.mode', 'on']] : []),
    ...valuesOf(context, 'set').map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new RalphError('usage', `--set ${pair}: write it as KEY=VALUE, such as idle.delay=10s.`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  ];
  const given = flags.flatMap(([key, value]) => (value === undefined ? [] : [[String(key), String(value)] as const]));
  const other = given.find(([key, value]) => mode !== null && snakeCase(key) === 'permission_mode' && value !== mode);
  if (other !== undefined) throw new RalphError('usage', START_TEXTS.twoModes(other[1], mode ?? ''));
  return Object.fromEntries(given);
}

/** Returns the former settings that still apply, and the new ones. */
function keptFlags(former: StartRequest['flags'], flags: StartRequest['flags']): StartRequest['flags'] {
  const keys = Object.keys(flags).map(snakeCase);
  const dropped = [...(keys.includes('agent') ? CLIENT_KEYS : []), ...keys];
  // The keys are equal, or one is part of the other: `idle` and `idle.delay`.
  const overlaps = (one: string, other: string): boolean =>
    one === other || one.startsWith(`${other}.`) || other.startsWith(`${one}.`);
  const kept = Object.entries(former).filter(([key]) => !dropped.some((other) => overlaps(snakeCase(key), other)));
  return { ...Object.fromEntries(kept), ...flags };
}

/** Returns the permission mode among the client's own options, or null. Throws `usage` for two different ones. */
export function modeIn(rest: readonly string[]): string | null {
  const modes = rest.flatMap((word, at) => {
    if (word === '--dangerously-skip-permissions') return ['bypassPermissions'];
    if (word === '--permission-mode') return [rest[at + 1] ?? ''];
    return word.startsWith('--permission-mode=') ? [word.slice('--permission-mode='.length)] : [];
  });
  const [mode = null, other = mode] = new Set(modes);
  if (other !== mode) throw new RalphError('usage', START_TEXTS.twoModes(`${mode}`, `${other}`));
  return mode;
}

/** Reads the loop, its task and its arguments; a resumed loop keeps its task. Errors advise `command`. */
export function startTarget(context: CommandContext, command: 'start' | 'run' | 'router start' = 'start') {
  const { values, projectDir, env } = context;
  const resumes = values['resume'] === true;
  const named = taskOption(context);
  const loop = named === null ? defaultLoop(context, command) : context.files;
  const task =
    named ?? (resumes ? lastTaskOf(loop) : values['tdd'] === true ? tddTask(projectDir) : restartedFolder(context));
  const isPlain = loop.name !== null || task === null || !hasFolder(taskKind(task));
  const files = isPlain ? loop : loopFiles(projectDir, taskLoopName(projectDir, task, env), env);
  const args = readArguments(valuesOf(context, 'arg'));
  const names = Object.keys(args);
  if (task === null && !resumes && names.length > 0 && !existsSync(join(projectDir, DEFAULT_TASK)))
    throw new RalphError('usage', START_TEXTS.argsWithoutTask(names, DEFAULT_TASK));
  const former = resumes ? formerContract(files) : null;
  if (resumes && task === null && former === null && lastLoopIn(files) === null)
    throw new RalphError('no-loop', START_TEXTS.nothingToResume);
  return {
    files,
    /** Relative to the project; null for PROMPT.md. */
    task,
    args,
    /** Arguments of a resumed loop; `args` take precedence. */
    formerArgs: former?.task?.args ?? {},
    /** Command-line settings of a resumed loop; new ones take precedence. */
    // The user has not seen the settings of a loop that still awaits consent.
    formerFlags: former?.consented === true ? former.flags : {},
  };
}

/** Returns the task of `--task` or `--path`, or null: relative to the current directory if it exists there, else the project. */
function taskOption({ values, projectDir }: CommandContext): string | null {
  const { task, path } = values;
  if (task !== undefined && path !== undefined)
    throw new RalphError('usage', '--path is another name for --task: use one of them.');
  const word = task ?? path;
  if (typeof word !== 'string') return null;
  if (word === '') throw new RalphError('usage', '--task is empty: name a task file or a task folder.');
  const here = resolve(word);
  return taskPathOf(projectDir, existsSync(here) ? here : pathNamed(projectDir, word));
}

/** Returns the loop of a command line without a task. */
function defaultLoop(context: CommandContext, command: string): LoopFiles {
  const { values, files } = context;
  if (files.name !== null) return files;
  if (values['resume'] === true) return loopToResume(context, command);
  return values['consent'] === true ? loopAwaitingConsent(context) : files;
}

/** Returns the task folder whose loop `--fresh --loop NAME` restarts; null if there is none. */
function restartedFolder({ values, files }: CommandContext): string | null {
  if (values['fresh'] !== true || files.name === null) return null;
  const task = lastTaskOf(files);
  return task !== null && hasFolder(taskKind(task)) ? task : null;
}

/** Returns the contract of a resumed loop; null for one that is not proved: another program may have written its options. */
function formerContract(files: LoopFiles) {
  const found = findContract(files);
  if (found === 'unreadable') return null;
  if (found !== 'absent') return lossBy(() => proveContract(files)) === null ? found.contract : null;
  const last = lastLoopIn(files);
  const ended = last && formerEvidence(files, last).former;
  if (ended === null) return null;
  // `max_tasks` applies until the review, and an ended loop has been reviewed.
  const { max_tasks: _, ...flags } = ended.contract.flags;
  return { ...ended.contract, flags };
}

const TDD_TASK = '.claude/ralph/TDD.md';

/** Returns the task file of a TDD loop that names none, relative to the project. Creates it from the template. */
function tddTask(projectDir: string): string {
  const path = join(projectDir, TDD_TASK);
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    writeAtomically(path, bundledText('templates/TDD.md'), modeOf(path));
  }
  return TDD_TASK;
}

/** Fills in missing options from the file of `--input`. Throws `usage` with all problems. */
export async function withInput(context: CommandContext): Promise<CommandContext> {
  const { values, projectDir, env } = context;
  const path = values['input'];
  if (typeof path !== 'string') return context;
  const text = path === '-' ? readInput() : readTaskText(resolve(path), path);
  const { checkInput, evaluateJson, unknownKeys } = await import('../../task/skill-contract/schema-problems.ts');
  const evaluated = evaluateJson(text, `input ${path}`, checkInput);
  if (evaluated.code !== 0) throw new RalphError('usage', printable(evaluated.lines.join('\n')));
  const input = JSON.parse(text.replace(/^\uFEFF/, '')) as SkillInput;
  const unknown = unknownKeys(input);
  if (unknown.length > 0) context.err(`ralph-loop: ignored keys of ${path}: ${printable(unknown.join(', '))}.`);
  const { loop } = input;
  const named = values['loop'] === undefined && loop !== undefined;
  return {
    ...context,
    ...(named && { files: loopFiles(projectDir, loop, env) }),
    values: {
      ...optionsOf(input, values['path'] !== undefined),
      ...values,
      set: [...settingsOf(input), ...valuesOf(context, 'set')],
      arg: argsOf(input, valuesOf(context, 'arg')),
    },
  };
}

function optionsOf(input: SkillInput, hasPath: boolean): CommandContext['values'] {
  const { maxIterations, task, loop, tdd, plan, from, maxTasks } = input;
  const numbers = { 'max-iterations': maxIterations?.toString(), 'max-tasks': maxTasks?.toString() };
  const values = { ...numbers, loop, tdd, plan, from, ...(!hasPath && { task }) };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** Returns settings in the form of `--set`; those of the command line come later and take precedence. */
function settingsOf({ completionSignal, circuitBreakerThreshold, settings = {} }: SkillInput): string[] {
  return [
    ...(completionSignal === undefined ? [] : [`completion_signal=${completionSignal}`]),
    ...(circuitBreakerThreshold === undefined ? [] : [`breaker.findings=${circuitBreakerThreshold}`]),
    ...Object.entries(settings).map(([key, value]) => `${key}=${value}`),
  ];
}

function argsOf({ args = {} }: SkillInput, pairs: readonly string[]): string[] {
  const names = pairs.map((pair) => pair.split('=')[0]);
  const own = Object.entries(args).filter(([name]) => !names.includes(name));
  return [...own.map(([name, value]) => `${name}=${value}`), ...pairs];
}
