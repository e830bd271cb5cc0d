import { counted } from '../../text/figures.ts';
import { advise, type Message } from '../../text/message.ts';
import { asSentence, quoted } from '../../text/quote.ts';
import type { PlanState } from '../schema/plan.ts';
import type { PlanStop, ToldTask } from './attempt.ts';
import { planKey } from './task-order.ts';

/** Returns the last message of a loop over a plan: what is done, why it ends, and the next step. `why` says why a task was blocked. */
export function planStopText(
  stop: PlanStop,
  plan: PlanState,
  tasks: readonly ToldTask[],
  path: string,
  why = '',
): Message {
  const { choice } = stop;
  const passed = passedText(stop);
  if ('only' in stop) return { text: onlyText(stop.as, stop.only, path, why) };
  switch (stop.as) {
    case 'complete': {
      const all = tasks.length === 1 ? `The only task of ${path} is` : `All ${tasks.length} tasks of ${path} are`;
      return { text: `${all} done${doneText(plan, tasks.length)}.` };
    }
    case 'paused-for-review': {
      const next = choice.next === null ? '' : ` Next is ${choice.next.id}, ${choice.next.title}.`;
      const told =
        stop.why === 'max-tasks'
          ? `${counted(plan.done.length, 'task')} done in this session: ${plan.done.join(', ')}.`
          : 'Every task from the given one onwards is done; earlier tasks remain.';
      return advise(`${told}${next}${passed}`, 'Review the commits, then continue', 'start', {
        ...planOptions(path),
        ...(choice.next !== null && { from: quoted(choice.next.id) }),
      });
    }
    case 'needs-verification': {
      const manual = choice.passed.filter(({ id, because, why }) => why === 'manual-verify' && id === because);
      const list = manual.map(({ id }) => manualText(tasks.find((task) => planKey(task.id) === planKey(id))));
      const text = `The remaining tasks of ${path} need verification by a person${doneText(plan)}.${passed}\n${list.join('\n')}\n`;
      return advise(`${text}Tick each box that holds.`, 'Then continue', 'start', planOptions(path));
    }
    case 'blocked':
      return blockedText(stop, plan, path, why);
    default:
      return stop satisfies never;
  }
}

/** Returns which tasks are blocked and why, what waits for them, and what to do. */
function blockedText(
  { choice, became }: Extract<PlanStop, { readonly became: readonly string[] }>,
  plan: PlanState,
  path: string,
  why: string,
): Message {
  const blocked = became.length > 0 ? became : [...new Set(choice.passed.map(({ because }) => because))];
  const waiting = choice.passed.filter(({ id, because }) => blocked.includes(because) && id !== because);
  const chain = waiting.length === 0 ? '' : ` Waiting for it: ${waiting.map(({ id }) => id).join(', ')}.`;
  const named =
    blocked.length === 0
      ? 'No task of the plan can start'
      : `${blocked.join(', ')} ${blocked.length === 1 ? 'is' : 'are'} blocked`;
  const isTold = became.length === 1 && why !== '';
  const reason = isTold ? `: ${asSentence(why)}` : '.';
  const toDo =
    became.length > 0
      ? `${isTold ? 'The' : `The progress file beside ${path} says why; the`} attempted changes are uncommitted in the working tree. Fix the cause`
      : 'The plan already said so when this session began, so it was not tried. Remove the obstacle';
  return advise(
    `${named}${doneText(plan)}${reason}${chain} ${toDo} and remove "(blocked)" from the plan.`,
    'Resume',
    'resume',
  );
}

function onlyText(as: 'complete' | 'blocked', id: string, path: string, why: string): string {
  if (as === 'complete') return `${id} of ${path} is done.`;
  const reason =
    why === ''
      ? `${id} is blocked. The progress file beside ${path} says why.`
      : `${id} is blocked: ${asSentence(why)}`;
  return `${reason} The attempted changes are uncommitted in its worktree.`;
}

function planOptions(path: string): Record<string, string | true> {
  return { task: quoted(path.replace(/^-/, './-')), plan: true };
}

export function passedOverText({ choice }: Pick<PlanStop, 'choice'>): string | null {
  if (choice.passed.length === 0) return null;
  const list = choice.passed.map(({ id, because, why }) =>
    id === because ? `${id} (${why})` : `${id} (waits for ${because})`,
  );
  return `Skipped: ${list.join(', ')}.`;
}

function passedText(stop: PlanStop): string {
  const blocked = stop.choice.passed.filter(({ why }) => why === 'blocked');
  return blocked.length === 0 ? '' : ` Blocked: ${blocked.map(({ id }) => id).join(', ')}.`;
}

/** Returns how many tasks this session did; omits the number if they are `all`. */
function doneText({ done }: PlanState, all = 0): string {
  return done.length === 0 || done.length === all ? '' : ` (${counted(done.length, 'task')} done in this session)`;
}

function manualText(task: ToldTask | undefined): string {
  if (task === undefined) return '';
  return [`- ${task.id}, ${task.title}`, ...task.acceptance.map((each) => `  - ${each}`)].join('\n');
}
