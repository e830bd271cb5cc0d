import { RalphError } from '../../src/core/ralph-error.ts';
import type { Command } from './command.ts';
import { statusOf } from './status-of.ts';
import { statusText } from './status-text.ts';
import { onePath } from './task-place.ts';
import { statusOnPath, withRun } from './task-status.ts';

export const STATUS_COMMAND: Command = {
  name: 'status',
  summary: 'How the loop stands.',
  usage: '[PATH] [--loop NAME] [--json]',
  help: 'Says how the live loop stands, or that there is none and how the last one ended. Of a task folder it tells the last iteration, too; with its PATH, or that of its RALPH.md, also when its loop is over.',
  options: {},
  control: false,
  run(context) {
    const path = onePath('status', context.positionals);
    if (path !== null && context.values['loop'] !== undefined) {
      throw new RalphError('usage', 'status takes a path or --loop, not both.');
    }
    const status = path === null ? withRun(context.projectDir, statusOf(context)) : statusOnPath(context, path);
    context.out(context.forPeople ? statusText(status, context) : JSON.stringify(status, null, 2));
    return 0;
  },
};
