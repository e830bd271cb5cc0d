import { MOST_ATTEMPTS } from '../plan/attempt.ts';
import { completionText } from '../signals/signals.ts';
import { type AssembledPrompt, guardrailsText, noticeTexts, type PromptParts, section } from './assemble-prompt.ts';

/** What the hand-off of a plan says; a context that knows nothing of the ones before it works by it. */
export interface PlanPromptParts
  extends Pick<PromptParts, 'iteration' | 'maxIterations' | 'notices' | 'steering' | 'guardrailsPath' | 'completion'> {
  /** Relative to the project. */
  readonly planPath: string;
  readonly progressPath: string;
  readonly task: { readonly id: string; readonly title: string };
  /** The task as it stands in the plan. */
  readonly text: string;
  /** As it is enforced; empty: the whole project. */
  readonly scope: readonly string[];
  /** Tasks done in this session, and the most it may have. */
  readonly done: number;
  readonly maxTasks: number;
  /** Attempts at this task that did not pass. */
  readonly attempts: number;
  /** The last entry of the progress file, or null. */
  readonly lastProgress: string | null;
  /** What the agent said of this task when its last turn ended; null where this is the first. */
  readonly report: string | null;
  /** What lies beside the plan, each as a section: the memory of the project. */
  readonly beside: readonly string[];
  /** Names of the commands that have to pass. */
  readonly validation: readonly string[];
  readonly idle: boolean;
}

/** The prompt of one attempt at a task of a plan. Pure: the same parts give the same text. */
export function assemblePlanPrompt(parts: PlanPromptParts): AssembledPrompt {
  const { task, planPath, done, maxTasks, attempts, report, lastProgress, guardrailsPath } = parts;
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
    ...(report === null ? [] : [section('What you said of this task last time', [report])]),
    ...(guardrailsPath === null ? [] : [guardrailsText(guardrailsPath)]),
    ...parts.beside,
  ];
  const body = `## The task, from ${planPath}\n\n${parts.text.trim()}`;
  return { preface: preface.join('\n\n'), body, closing: [rules(parts), ending(parts), last(attempts)].join('\n\n') };
}

function nextAction({ attempts, report, notices, task }: PlanPromptParts): string {
  if (notices.rejection.length > 0) return `mend what kept ${task.id} from passing, as told below.`;
  if (attempts > 0 || report !== null) return `go on with ${task.id} where it stands in the working tree.`;
  return `do ${task.id}, and nothing else of the plan.`;
}

function rejection({ notices, task }: PlanPromptParts): string[] {
  if (notices.rejection.length === 0) return [];
  return [section(`Your last attempt at ${task.id} did not pass`, notices.rejection)];
}

function rules({ scope, planPath, progressPath, validation }: PlanPromptParts): string {
  const checked = validation.length === 0 ? '' : ` These commands have to pass: ${validation.join(', ')}.`;
  const where =
    scope.length === 0
      ? 'The task names no scope: change what it needs, and nothing else.'
      : `Change files within the scope alone: ${scope.map((each) => `\`${each}\``).join(', ')}. Where that is too narrow, say so and end as blocked: only the user widens it, in the plan.`;
  return section('Rules', [
    `- ${where}`,
    `- Do not commit, do not push, do not change branches: when you end your message the task is verified, and committed where it passes.${checked}`,
    `- Do not edit ${planPath} (the box is ticked for you) or ${progressPath} (your entry is written for you from your last message).`,
    '- Do this one task, whole, by its acceptance. Leave every other task alone.',
  ]);
}

function ending({ completion, idle }: PlanPromptParts): string {
  const wanted = completionText(completion);
  return section('How to end your message', [
    'End it when the acceptance holds, with these lines, each in one sentence:',
    '',
    'Summary: what you did',
    'Learnings: what the next tasks should know',
    'Blockers: what stood in the way, or none',
    '',
    'Only where it is not done, add one of these, alone on a line:',
    '- You got on, and need another turn for the rest: <!-- ralph:state partial -->',
    '- It cannot be done without the user (the blockers say why): <!-- ralph:state blocked -->',
    ...(idle ? ['- There is nothing to do right now: <!-- ralph:state idle -->'] : []),
    ...(wanted === null ? [] : [`A ${wanted} says no more than that the task is done.`]),
  ]);
}

function last(attempts: number): string {
  const left = MOST_ATTEMPTS - attempts;
  return left === 1
    ? 'This is the last attempt: if it does not pass, the task is marked as blocked and the loop ends.'
    : `A task has ${MOST_ATTEMPTS} attempts; this is the first.`;
}
