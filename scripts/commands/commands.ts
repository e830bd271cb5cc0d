import type { Command } from './command.ts';

/**
 * Every command, loaded when it is called: `status` and the status line must not pay for zod and yaml.
 * In the order of the help.
 */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import('./start.ts')).START_COMMAND,
  run: async () => (await import('./run.ts')).RUN_COMMAND,
  router: async () => (await import('./router.ts')).ROUTER_COMMAND,
  stop: async () => (await import('./stop.ts')).STOP_COMMAND,
  cancel: async () => (await import('./cancel.ts')).CANCEL_COMMAND,
  pause: async () => (await import('./pause.ts')).PAUSE_COMMAND,
  resume: async () => (await import('./resume.ts')).RESUME_COMMAND,
  wake: async () => (await import('./wake.ts')).WAKE_COMMAND,
  steer: async () => (await import('./steer.ts')).STEER_COMMAND,
  accept: async () => (await import('./accept.ts')).ACCEPT_COMMAND,
  statusline: async () => (await import('./statusline.ts')).STATUSLINE_COMMAND,
  draft: async () => (await import('./draft.ts')).DRAFT_COMMAND,
  scaffold: async () => (await import('./scaffold.ts')).SCAFFOLD_COMMAND,
  init: async () => (await import('./init.ts')).INIT_COMMAND,
  uninit: async () => (await import('./uninit.ts')).UNINIT_COMMAND,
  doctor: async () => (await import('./doctor.ts')).DOCTOR_COMMAND,
  status: async () => (await import('./status.ts')).STATUS_COMMAND,
  list: async () => (await import('./list.ts')).LIST_COMMAND,
  explain: async () => (await import('./explain.ts')).EXPLAIN_COMMAND,
  worktree: async () => (await import('./worktree.ts')).WORKTREE_COMMAND,
  logs: async () => (await import('./logs.ts')).LOGS_COMMAND,
  archive: async () => (await import('./archive.ts')).ARCHIVE_COMMAND,
  signs: async () => (await import('./signs.ts')).SIGNS_COMMAND,
  tdd: async () => (await import('./tdd.ts')).TDD_COMMAND,
  check: async () => (await import('./check.ts')).CHECK_COMMAND,
  plan: async () => (await import('./plan.ts')).PLAN_COMMAND,
  config: async () => (await import('./config.ts')).CONFIG_COMMAND,
  reset: async () => (await import('./reset.ts')).RESET_COMMAND,
};
