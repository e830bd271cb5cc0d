import { loopNames } from '../../drive/status/project-loops.ts';
import { dollarText, iterations } from '../../engine/messages.ts';
import { instantText } from '../../term/figures.ts';
import { forLoop } from '../../term/for-loop.ts';
import { type Paint, painter, printable } from '../../term/paint.ts';
import { table } from '../../term/table.ts';
import { formatDuration } from '../../text/duration.ts';
import { elapsed } from '../../text/instant.ts';
import type { ChecklistCount } from '../../text/markdown/checklist.ts';
import type { Command, CommandContext } from '../command.ts';
import { loopTable, pathOrLoop } from '../live-loops.ts';
import { iterationTable } from './iteration-table.ts';
import type { EndedLoop } from './last-ended.ts';
import type { ActiveStatus, InactiveStatus } from './status-of.ts';
import { type ReportedStatus, runLines, statusHere, statusOnPath } from './task-status.ts';

export const STATUS_COMMAND: Command = {
  name: 'status',
  summary: 'How the loop stands.',
  usage: '[PATH] [--loop NAME]',
  help: 'Says how the default loop or the named one stands, or that there is none and how the last one ended. Where the default loop is not live and others are, it lists those. Of a task folder it tells the last iteration, too; with its PATH, or that of its RALPH.md, also when its loop is over. Of a plan it tells the tasks, their states, and which is next.',
  options: {},
  control: false,
  async run(context) {
    const path = pathOrLoop(context, 'status');
    const plan = path === null ? null : (await import('../task/plan.ts')).planStatus(context, path);
    if (plan !== null) {
      context.out(plan);
      return 0;
    }
    const status = path === null ? statusHere(context) : statusOnPath(context, path);
    context.out(context.forPeople ? statusText(status, context) : JSON.stringify(status, null, 2));
    return 0;
  },
};

/** The status for people. */
export function statusText(status: ReportedStatus, context: CommandContext): string {
  const { now, env, forPeople } = context;
  const paint = painter(forPeople, env);
  const at = now();
  const mode = status.active ? status.mode : (status.lastLoop?.mode ?? 'hook');
  const run = status.run ? runLines(status.run, at, { name: status.name, mode }) : [];
  const figures = status.recent ? ['', iterationTable(status.recent, paint)] : [];
  if (status.active) return [activeText(status, at, paint), ...figures, ...run].join('\n');
  const ended =
    status.lastLoop === null ? [] : [forLoop(endedText(status.lastLoop, at, paint), { name: status.name, mode })];
  return [
    printable(forLoop(status.message, { name: status.name, mode })),
    ...ended,
    ...figures,
    ...run,
    ...othersText(status, context),
  ].join('\n');
}

/** Where to look when the loop that was asked for is not live. */
function othersText({ name, loops, lastLoop }: InactiveStatus & ReportedStatus, where: CommandContext): string[] {
  if (loops !== undefined) {
    return ['Active here, to be asked for with their path or --loop NAME:', loopTable(loops)];
  }
  const others = lastLoop === null && loopNames(where.projectDir, where.env).some((other) => other !== name);
  return others ? ['main.cjs list shows the loops that are over.'] : [];
}

function activeText(status: ActiveStatus, at: string, paint: Paint): string {
  const name = status.name === null ? 'The loop' : `Loop ${status.name}`;
  const rows = [
    ['task', status.taskPath + (status.promptExists ? '' : paint('red', '  (missing)'))],
    ['iterations', progressText(status)],
    ...(status.checklist === undefined ? [] : [['checklist', checklistText(status.checklist)]]),
    ...(status.scenarios === undefined ? [] : [['scenarios', scenariosText(status.scenarios)]]),
    ['started', instantText(status.startedAt, at)],
    ['last turn', instantText(status.lastRunAt, at)],
    ['findings', `${status.lastFindingsCount}`],
    ['client', clientText(status, paint)],
    ...(status.usage === null ? [] : [['usage', usageText(status.usage)]]),
    ...(status.guardrailsExists ? [] : [['guardrails', 'no .claude/ralph/guardrails.md']]),
  ];
  return `${name} is ${paint('bold', stateText(status, at))}.\n${table(rows.map((row) => ['', ...row]))}`;
}

function scenariosText({ done, total, current }: NonNullable<ActiveStatus['scenarios']>): string {
  return `${checklistText({ done, total })} proved${current === null ? '' : `, ${current} at work`}`;
}

function stateText(status: ActiveStatus, at: string): string {
  if (status.paused !== null) {
    const resumes = status.paused.resumesAt === null ? '' : `, until ${instantText(status.paused.resumesAt, at)}`;
    return `paused (${status.paused.reason}${resumes})`;
  }
  if (status.waitingUntil !== null) {
    const next = status.waitingFor === 'pace' ? 'waiting; the next iteration begins' : 'idle; the next look is';
    return `${next} in ${formatDuration(elapsed(at, status.waitingUntil))}`;
  }
  return status.stopRequested ? `${status.status}, and stops after this iteration` : status.status;
}

/** `3 of 10`. */
export function checklistText({ done, total }: ChecklistCount): string {
  return total === 0 ? 'no items yet' : `${done} of ${total}`;
}

function progressText({ iteration, maxIterations, idleIterations }: ActiveStatus): string {
  return `${iteration} of ${maxIterations} done${idleIterations === 0 ? '' : `, ${idleIterations} idle`}`;
}

function clientText({ clientPid, clientAlive, mode, name }: ActiveStatus, paint: Paint): string {
  const resume = forLoop('main.cjs start --resume', { name, mode });
  if (mode === 'runner' && clientAlive !== null) {
    return clientAlive ? 'of a runner' : paint('red', `its runner is gone: ${resume}`);
  }
  if (clientPid === null || clientAlive === null) return mode === 'router' ? mode : 'none yet';
  return clientAlive ? `process ${clientPid}` : paint('red', `process ${clientPid} is gone: ${resume}`);
}

function usageText(usage: NonNullable<ActiveStatus['usage']>): string {
  const cost = usage.costUsd === null ? 'cost unknown' : dollarText(usage.costUsd);
  const read = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return `${read.toLocaleString('en')} tokens in, ${usage.outputTokens.toLocaleString('en')} out, ${cost}`;
}

/** One line about a loop that is over. */
function endedText(loop: EndedLoop, at: string, paint: Paint): string {
  const list = loop.checklist === undefined ? '' : `, checklist ${checklistText(loop.checklist)}`;
  const style = loop.status === 'complete' ? 'green' : loop.status === 'error' ? 'red' : 'yellow';
  return `The last loop ended as ${paint(style, loop.status)} after ${iterations(loop.iteration)}${list} (${instantText(loop.endedAt, at)}): ${printable(loop.message)}`;
}
