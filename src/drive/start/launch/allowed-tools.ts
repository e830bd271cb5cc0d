import type { Contract } from '../../../engine/schema/contract.ts';
import type { LoopFiles } from '../../../state/loop-files.ts';
import { peekTdd } from '../../../state/tdd-store.ts';
import type { Settings } from '../../../task/settings/resolve.ts';

/** Returns the commands that the user named as checks of this loop: validation, evidence and scenarios. */
export function checkCommands(files: LoopFiles, { validation, task, tdd }: Contract): string[] {
  const scenarios = tdd === undefined ? [] : (peekTdd(files)?.scenarios ?? []);
  return [...new Set([...validation, ...(task?.commands ?? []), ...scenarios].map(({ run }) => run.trim()))];
}

/** Returns the client's options that allow the agent exactly these checks, which the user has agreed to run. */
export function allowedChecks(files: LoopFiles, contract: Contract | null): string[] {
  if (contract === null) return [];
  const rules = checkCommands(files, contract).map((run) => allowRule('Bash', run));
  const exact = rules.filter((rule) => rule !== null);
  return exact.length === 0 ? [] : ['--allowedTools', ...exact];
}

/** Returns the client's rule for exactly this call; null if the command contains a star, which rules read as a wildcard. */
export function allowRule(tool: string, command: string): string | null {
  if (tool !== 'Bash') return tool;
  return command.includes('*') || command === '' ? null : `Bash(${command})`;
}

export type ClientSettings = Pick<Settings, 'permissionMode' | 'model' | 'effort'>;

/** Returns the client's options for settings of the loop. */
export function clientOptions(settings: ClientSettings): string[] {
  const { permissionMode, model, effort } = settings;
  const named = { '--permission-mode': permissionMode, '--model': model, '--effort': effort };
  return Object.entries(named).flatMap(([option, value]) => (value === null ? [] : [option, value]));
}

/** Takes away the tools whose wake-up would come after a client without a terminal has exited, with the end of its turn. */
export const NO_WAKE_UPS: readonly string[] = ['--disallowedTools', 'ScheduleWakeup', 'CronCreate'];
