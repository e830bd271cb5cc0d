import { homedir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { RalphError } from '../text/message.ts';

/** Returns the user's absolute home folder, or null: an empty or relative HOME would put the state into the project. */
function findHome({ HOME, USERPROFILE }: NodeJS.ProcessEnv): string | null {
  const known = [
    () => HOME,
    () => USERPROFILE,
    () => ofKnownUser(homedir),
    () => ofKnownUser(() => userInfo().homedir),
  ];
  for (const look of known) {
    const home = look();
    if (home && isAbsolute(home)) return home;
  }
  return null;
}

/** Codes of getpwuid_r(3) for a user unknown to the system. */
const UNKNOWN_USER = new Set(['ENOENT', 'ESRCH', 'EBADF', 'EPERM']);

/** Returns the system's entry for the user; undefined for an unknown user. Throws every other error. */
function ofKnownUser(look: () => string): string | undefined {
  try {
    return look();
  } catch (error) {
    const { info } = error as { info?: { code?: string } };
    if (UNKNOWN_USER.has(info?.code ?? '')) return undefined;
    throw error;
  }
}

/** Returns the user's home folder. Throws `state-io` if nothing names one, as in a container with an unknown user. */
export function homeFolder(env: NodeJS.ProcessEnv): string {
  const home = findHome(env);
  if (home !== null) return home;
  throw new RalphError('state-io', 'This user has no home folder. Set HOME to a folder that you can write to.');
}

/**
 * Returns `$XDG_STATE_HOME/ralph-loop` or its equivalent; null if unknown. A relative XDG_STATE_HOME is ignored, as
 * specified. A hook of a launched loop uses its launcher's folder, even if the client's settings name another.
 */
export function findOutsideRoot(env: NodeJS.ProcessEnv): string | null {
  const { RALPH_ACTIVE: active, RALPH_STATE_HOME: launchers, LOCALAPPDATA: appData } = env;
  const stateHome = active === '1' && launchers ? launchers : env['XDG_STATE_HOME'];
  if (stateHome && isAbsolute(stateHome)) return join(stateHome, 'ralph-loop');
  if (process.platform === 'win32' && appData && isAbsolute(appData)) return join(appData, 'ralph-loop');
  const home = findHome(env);
  return home && join(home, '.local', 'state', 'ralph-loop');
}

/** Returns the folder of the user's configuration: `XDG_CONFIG_HOME` if absolute, as its specification demands. */
export function configFolder(env: NodeJS.ProcessEnv = process.env): string {
  const given = env['XDG_CONFIG_HOME'] ?? '';
  return isAbsolute(given) ? given : join(homeFolder(env), '.config');
}

export function clientConfigDir(env: NodeJS.ProcessEnv): string {
  return env['CLAUDE_CONFIG_DIR'] || join(homeFolder(env), '.claude');
}

/** Returns the folder of the client's settings that an administrator imposes on all users; they override ours. */
export function managedDir(platform: NodeJS.Platform = process.platform): string {
  if (platform === 'darwin') return '/Library/Application Support/ClaudeCode';
  return platform === 'win32' ? 'C:\\Program Files\\ClaudeCode' : '/etc/claude-code';
}
