import { MOST_ATTEMPTS } from '../plan/attempt.ts';
import { completionText } from '../signals/signals.ts';
import { type AssembledPrompt, guardrailsText, noticeTexts, type PromptParts, section } from './assemble-prompt.ts';

/** Parts of a plan's hand-off to a fresh context. */
export interface PlanPromptParts
  extends Pick<PromptParts, 'iteration' | 'maxIterations' | 'notices' | 'steering' | 'guardrailsPath' | 'completion'> {
  readonly planPath: string;
  readonly progressPath: string;
  readonly task: { readonly id: string; readonly title: string };
  readonly text: string;
  /** Enforced scope; empty: the whole project. */
  readonly scope: readonly string[];
  /** Number of tasks done in this session, and its limit. */
  readonly done: number;
  readonly maxTasks: number;
  readonly attempts: number;
  /** The task is blocked if this attempt does not pass. */
  readonly isLast: boolean;
  readonly lastProgress: string | null;
  /** The agent's last report on this task; null before the first. */
  readonly report: string | null;
  /** Further sections, such as the project memory. */
  readonly beside: readonly string[];
  /** Names of the commands that must pass. */
  readonly validation: readonly string[];
  /** Checks of the project, for a plan without commands that must pass. */
  readonly projectChecks: readonly string[];
  readonly noChange: boolean;
  readonly idle: boolean;
}

/** Returns the prompt of one attempt at a task of a plan. Pure. */
export function assemblePlanPrompt(parts: PlanPromptParts): AssembledPrompt {
  const { task, planPath, done, maxTasks, report, lastProgress, guardrailsPath } = parts;
  const handOff = [
    `[ralph] Iteration ${parts.iteration} of ${parts.maxIterations}. Continue ralph execution for: ${planPath}`,
    `Current task: ${task.id}, ${task.title}`,
    `Tasks completed this session: ${done} of ${maxTasks}`,
    `Last progress: ${lastProgress ?? 'none yet'}`,
    `Next action: ${nextAction(parts)}`,
  ];
  const preface = [
    handOff.join('\n'),
    ...noticeTexts({ ...parts, notices: { ...parts.notices, rejection: [] } }),
    ...rejection(parts),
    ...(report === null ? [] : [section('Your last report on this task', [report])]),
    ...(guardrailsPath === null ? [] : [guardrailsText(guardrailsPath)]),
    ...parts.beside,
  ];
  const body = `## The task, from ${planPath}\n\n${parts.text.trim()}`;
  return {
    preface: preface.join('\n\n'),
    body,
    closing: [rules(parts), ending(parts), last(parts.isLast)].join('\n\n'),
  };
}

function nextAction({ attempts, report, notices, task }: PlanPromptParts): string {
  if (notices.rejection.length > 0) return `fix what kept ${task.id} from passing (see below).`;
  if (attempts > 0 || report !== null) return `continue ${task.id} from the state of the working tree.`;
  return `do ${task.id}, and nothing else of the plan.`;
}

function rejection({ notices, task }: PlanPromptParts): string[] {
  if (notices.rejection.length === 0) return [];
  return [section(`Your last attempt at ${task.id} did not pass`, notices.rejection)];
}

function rules({ scope, planPath, progressPath, validation, projectChecks, noChange }: PlanPromptParts): string {
  const checked = validation.length === 0 ? '' : ` These commands have to pass: ${validation.join(', ')}.`;
  const where =
    scope.length === 0
      ? 'The task has no scope: change only what it needs.'
      : `Change only files in scope: ${scope.map((each) => `\`${each}\``).join(', ')}. If that is too narrow, say so and end as blocked: only the user can widen it, in the plan.`;
  return section('Rules', [
    `- ${where}`,
    `- Do not commit, push or change branches: when you end your message the task is verified, and committed if it passes.${checked}`,
    `- Do not edit ${planPath} (its box is ticked for you) or ${progressPath} (the entry is written from your last message).`,
    ...(validation.length === 0 ? [ownChecks(projectChecks)] : []),
    '- Do this whole task, as its acceptance says, and no other task.',
    ...(noChange ? ['- The plan says that this task needs no change of a file.'] : []),
  ]);
}

/** Returns the rule for a plan without commands that must pass: only the agent runs the project's checks. */
function ownChecks(commands: readonly string[]): string {
  const found = commands.length === 0 ? '' : ` (${commands.map((each) => `\`${each}\``).join(', ')})`;
  return `- Before you end your message, run the checks of this project${found}, and those that AGENTS.md or CLAUDE.md names, and fix what fails because of your work.`;
}

function ending({ completion, idle }: PlanPromptParts): string {
  const wanted = completionText(completion);
  return section('How to end your message', [
    'End it when the acceptance is met, with these lines, one sentence each:',
    '',
    'Summary: what you did',
    'Learnings: what the next tasks should know',
    'Blockers: what keeps the task from being done, or none',
    '',
    'Only if it is not done, add one of these, alone on a line:',
    '- You made progress and need another turn for the rest: <!-- ralph:state partial -->',
    '- It cannot be done without the user: <!-- ralph:state blocked --> (any text but "none" after "Blockers:" says the same)',
    ...(idle ? ['- There is nothing to do right now: <!-- ralph:state idle -->'] : []),
    ...(wanted === null ? [] : [`${wanted} only says that this task is done.`]),
  ]);
}

function last(isLast: boolean): string {
  return isLast
    ? 'This is the last attempt: if it does not pass, the task is marked as blocked and the loop ends.'
    : `A task has ${MOST_ATTEMPTS} attempts; this is the first.`;
}
