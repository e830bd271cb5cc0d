import type { Command } from './command.ts';

/**
 * Every command, loaded when it is called: `status` and the status line must not pay for zod and yaml.
 */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import('./start/start.ts')).START_COMMAND,
  run: async () => (await import('./run/run.ts')).RUN_COMMAND,
  router: async () => (await import('./setup/router.ts')).ROUTER_COMMAND,
  stop: async () => (await import('./control/operator-commands.ts')).STOP_COMMAND,
  cancel: async () => (await import('./control/operator-commands.ts')).CANCEL_COMMAND,
  pause: async () => (await import('./control/operator-commands.ts')).PAUSE_COMMAND,
  resume: async () => (await import('./control/resume.ts')).RESUME_COMMAND,
  wake: async () => (await import('./control/operator-commands.ts')).WAKE_COMMAND,
  steer: async () => (await import('./control/operator-commands.ts')).STEER_COMMAND,
  accept: async () => (await import('./control/accept.ts')).ACCEPT_COMMAND,
  statusline: async () => (await import('./show/statusline.ts')).STATUSLINE_COMMAND,
  draft: async () => (await import('./task/draft.ts')).DRAFT_COMMAND,
  scaffold: async () => (await import('./task/scaffold.ts')).SCAFFOLD_COMMAND,
  init: async () => (await import('./setup/init.ts')).INIT_COMMAND,
  uninit: async () => (await import('./setup/init.ts')).UNINIT_COMMAND,
  doctor: async () => (await import('./setup/doctor.ts')).DOCTOR_COMMAND,
  status: async () => (await import('./show/status.ts')).STATUS_COMMAND,
  attach: async () => (await import('./show/attach.ts')).ATTACH_COMMAND,
  list: async () => (await import('./show/list.ts')).LIST_COMMAND,
  explain: async () => (await import('./show/explain.ts')).EXPLAIN_COMMAND,
  worktree: async () => (await import('./show/worktree.ts')).WORKTREE_COMMAND,
  logs: async () => (await import('./history/logs.ts')).LOGS_COMMAND,
  archive: async () => (await import('./history/archive.ts')).ARCHIVE_COMMAND,
  signs: async () => (await import('./history/signs.ts')).SIGNS_COMMAND,
  tdd: async () => (await import('./tdd/tdd.ts')).TDD_COMMAND,
  check: async () => (await import('./task/check.ts')).CHECK_COMMAND,
  plan: async () => (await import('./task/plan.ts')).PLAN_COMMAND,
  config: async () => (await import('./task/config.ts')).CONFIG_COMMAND,
  reset: async () => (await import('./control/reset.ts')).RESET_COMMAND,
};
