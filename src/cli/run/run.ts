import { type Command, options } from '../command.ts';
import { PLAN_OPTIONS, SETTING_OPTIONS, TASK_OPTIONS } from '../start/start-options.ts';

export const RUN_COMMAND: Command = {
  name: 'run',
  usage: '[TASK | NAME | "WORDS"]... [options] [-- CLIENT OPTIONS]',
  help: 'Works on a task until it is done or a limit is reached; each iteration starts a new Claude Code. NAME works on the checklist .ralph/NAME/task.md and creates it if missing. WORDS (quoted) draft .ralph/NAME/RALPH.md, and one screen shows what starts; several tasks run in worktrees, under one budget.',
  example: 'ralph-loop run tasks/docs --max-iterations 10',
  options: {
    ...TASK_OPTIONS,
    ...options({
      resume: 'Resume the live or last archived loop as it was set.',
      fresh: 'Archive an interrupted loop and start over.',
      consent: 'Approve and run the loop that an agent requested.',
      worktree: 'Run in the git worktree .ralph/worktrees/NAME.',
      'worktree-setup CMD': 'Shell command that sets up a new worktree.',
      'agent CMD': 'codex, or another agent without guardrails.',
      'parallel N': 'Tasks to work on at once; auto is half of the cores.',
      'integrate HOW': 'Afterwards merge, rebase or pr; default: none.',
      'issue ISSUE': 'Work on an issue, by number or URL, through gh.',
      'issues LABEL': 'Work on the open issues with this label.',
    }),
    ...PLAN_OPTIONS,
    ...SETTING_OPTIONS,
    ...options({
      'report FILE': 'Write an HTML report to this file at the end.',
      'dry-run': 'Show the start and its first prompt; start nothing.',
      plain: 'Print plain lines, even in a terminal.',
      'require-verified': 'Exit with 3 if the loop completes unverified.',
      yes: 'Ask nothing; permission mode acceptEdits by default.',
    }),
  },
  control: true,
  async run(context) {
    return (await import('./run-words.ts')).runWords(context, RUN_COMMAND);
  },
};
