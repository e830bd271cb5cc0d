import type { Command } from './command.ts';
import { pathOrLoop } from './live-loops.ts';
import { statusText } from './status-text.ts';
import { statusHere, statusOnPath } from './task-status.ts';

export const STATUS_COMMAND: Command = {
  name: 'status',
  summary: 'How the loop stands.',
  usage: '[PATH] [--loop NAME]',
  help: 'Says how the default loop or the named one stands, or that there is none and how the last one ended. Where the default loop is not live and others are, it lists those. Of a task folder it tells the last iteration, too; with its PATH, or that of its RALPH.md, also when its loop is over. Of a plan it tells the tasks, their states, and which is next.',
  options: {},
  control: false,
  async run(context) {
    const path = pathOrLoop(context, 'status');
    const plan = path === null ? null : (await import('./plan-status.ts')).planStatus(context, path);
    if (plan !== null) {
      context.out(plan);
      return 0;
    }
    const status = path === null ? statusHere(context) : statusOnPath(context, path);
    context.out(context.forPeople ? statusText(status, context) : JSON.stringify(status, null, 2));
    return 0;
  },
};
