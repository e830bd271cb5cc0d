import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { HostSession } from '../../claude/host-session.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { beganAt, identityOf } from '../../state/process/identity.ts';
import { peekTdd } from '../../state/tdd-store.ts';
import { isLeftOutFolder } from '../../task/progress/left-out.ts';
import { projectPath } from '../../task/project-file.ts';
import { userConfigPath } from '../start/read-settings.ts';

/** Flags that only say how far a loop may go, within what every loop may. */
const LIMITS = ['max_iterations', 'max_tasks'];

/** The settings of the command line that somebody has to agree to, as `key=value`: whoever resumes the loop keeps them. */
export function settingsToAgreeTo({ flags }: Contract): string[] {
  return Object.entries(flags).flatMap(([key, value]) => (LIMITS.includes(key) ? [] : [`${key}=${String(value)}`]));
}
/** Clocks of the file system and of the process table tick in hundredths of a second. */
const MARGIN_MS = 100;
/** A shell becomes node within that; a container's other clock is further away. */
const MOST_ASKEW_MS = 2_000;

/**
 * Whether a loop that a session starts needs no further consent: its command line sets nothing but limits, and it runs
 * no command by itself, or everything that says what it runs lay there, as it is, before the session's client began, so
 * that no agent of this session has written it. The time of a file's last change is the system's; nobody sets it. Where
 * that cannot be told, the answer is no.
 */
export function isAgreed(files: LoopFiles, contract: Contract, host: HostSession, env: NodeJS.ProcessEnv): boolean {
  if (settingsToAgreeTo(contract).length > 0) return false;
  // A list of scenarios has the user's agreement by itself, or has it not.
  if (contract.tdd !== undefined && peekTdd(files)?.consented !== true) return false;
  const { task, validation } = contract;
  if (validation.length === 0 && (task?.commands ?? []).length === 0) return true;
  // Words of the command line are the agent's, even where they are quoted into a command of the user's.
  if (Object.keys(contract.task?.args ?? {}).length > 0) return false;
  const began = beginningOf(host);
  if (began === null || !isProjectsOwn(contract)) return false;
  const { projectDir, taskPath, scripts } = contract;
  const said = [taskPath, '.claude/ralph/config.json', ...Object.keys(scripts)].map((path) => join(projectDir, path));
  return [...said, userConfigPath(env)].every((path) => changedAt(path) < began - MARGIN_MS);
}

/** A task that came with a package is nobody's word in this project. */
function isProjectsOwn({ projectDir, taskPath }: Contract): boolean {
  const real = realpathSync(projectDir);
  const path = projectPath(real, real, realpathSync(join(projectDir, taskPath)));
  return path !== null && !path.split('/').slice(0, -1).some(isLeftOutFolder);
}

/** Epoch milliseconds; a file that is not there says nothing. */
function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? 0;
}

/** When the client began, in epoch milliseconds; null where the system does not tell, or not by one clock. */
function beginningOf({ client, clientStartedAt }: HostSession): number | null {
  const began = client ? beganAt(clientStartedAt) : Number.NaN;
  const node = Date.now() - process.uptime() * 1000;
  // A container can count its uptime from another moment than its processes.
  const askew = Math.abs(beganAt(identityOf(process.pid).startedAt) - node);
  return began <= Date.now() && askew < MOST_ASKEW_MS ? began : null;
}
