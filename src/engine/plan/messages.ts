import { quoted } from '../../text/quote.ts';
import type { PlanState } from '../schema/plan.ts';
import type { LoopState } from '../schema/state.ts';
import type { PlanStop, ToldTask } from './attempt.ts';
import { planKey } from './task-order.ts';

/** How a plan is gone on with, as it was driven before. */
const AGAIN: Record<LoopState['mode'], (path: string) => string> = {
  hook: (path) => `main.cjs start --task ${path} --plan --launch`,
  runner: (path) => `main.cjs run ${path} --plan`,
  router: (path) => `main.cjs router start --task ${path} --plan`,
};

/** The last words of a loop over a plan: what is done, why it ends, and what to do next. */
export function planStopText(
  stop: PlanStop,
  plan: PlanState,
  tasks: readonly ToldTask[],
  { taskPath: path, mode }: Pick<LoopState, 'taskPath' | 'mode'>,
): string {
  const { choice } = stop;
  const passed = passedText(stop);
  const again = AGAIN[mode](quoted(path.replace(/^-/, './-')));
  switch (stop.as) {
    case 'complete':
      return `all ${tasks.length} tasks of ${path} are done${doneText(plan)}.`;
    case 'paused-for-review': {
      const next = choice.next === null ? '' : ` Next is ${choice.next.id}, ${choice.next.title}.`;
      const why =
        stop.why === 'max-tasks'
          ? `${count(plan.done.length)} done in this session: ${plan.done.join(', ')}.`
          : `what was to be done from the task to begin from on is done; tasks before it are left.`;
      const from = choice.next === null ? '' : ` --from ${quoted(choice.next.id)}`;
      return `${why}${next}${passed} Look at the commits, then go on: ${again}${from}.`;
    }
    case 'needs-verification': {
      const manual = choice.passed.filter(({ id, because, why }) => why === 'manual-verify' && id === because);
      const list = manual.map(({ id }) => manualText(tasks.find((task) => planKey(task.id) === planKey(id))));
      return `what is left of ${path} a person has to verify${doneText(plan)}.\n${list.join('\n')}\nTick each box that holds, then go on with what waits for it: ${again}.${passed}`;
    }
    case 'blocked': {
      const blocked = stop.became.length > 0 ? stop.became : roots(stop);
      const waiting = choice.passed.filter(({ id, because }) => blocked.includes(because) && id !== because);
      const chain = waiting.length === 0 ? '' : ` It keeps back ${waiting.map(({ id }) => id).join(', ')}.`;
      const named =
        blocked.length === 0
          ? 'no task of the plan can be worked on'
          : `${blocked.join(', ')} ${blocked.length === 1 ? 'is' : 'are'} blocked`;
      const told =
        stop.became.length > 0
          ? `The progress file beside ${path} says why; what was tried lies in the working tree, not committed. Mend it,`
          : 'That stood in the plan when this session began, and nothing of it was tried. Once nothing stands in its way,';
      return `${named}${doneText(plan)}.${chain} ${told} take "(blocked)" out of the plan, and go on: ${again} --resume.`;
    }
    default:
      return stop satisfies never;
  }
}

/** What the user hears of the tasks that are passed over, when a session begins; null where none is. */
export function passedOverText({ choice }: Pick<PlanStop, 'choice'>): string | null {
  if (choice.passed.length === 0) return null;
  const list = choice.passed.map(({ id, because, why }) =>
    id === because ? `${id} (${why})` : `${id} (waits for ${because})`,
  );
  return `passed over: ${list.join(', ')}.`;
}

function passedText(stop: PlanStop): string {
  const blocked = stop.choice.passed.filter(({ why }) => why === 'blocked');
  return blocked.length === 0 ? '' : ` Blocked: ${blocked.map(({ id }) => id).join(', ')}.`;
}

function roots({ choice }: PlanStop): string[] {
  return [...new Set(choice.passed.map(({ because }) => because))];
}

function doneText({ done }: PlanState): string {
  return done.length === 0 ? '' : ` (${count(done.length)} done in this session)`;
}

function manualText(task: ToldTask | undefined): string {
  if (task === undefined) return '';
  return [`- ${task.id}, ${task.title}`, ...task.acceptance.map((each) => `  - ${each}`)].join('\n');
}

function count(tasks: number): string {
  return tasks === 1 ? '1 task' : `${tasks} tasks`;
}
