import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { readRecord, writeRecord } from '../../../state/files/regular-file.ts';
import { sha256 } from '../../../state/hash-contract.ts';
import { outsideRoot } from '../../../state/loop-files.ts';
import { KEY_PATHS, type Source, valueAt } from '../../../task/settings/layers.ts';
import { WORKTREES } from '../../../task/task-file.ts';
import { about, RalphError } from '../../../text/message.ts';
import { START_TEXTS } from '../../turn/messages.ts';
import type { Prepared, Resolved, StartRequest } from '../stages.ts';
import { widens } from './widening-keys.ts';

/** A setting of the task file or a configuration file that starts a program or widens what the agent may do. */
export interface RiskySetting {
  readonly line: string;
  readonly digest: string;
}

/** Maximum number of agreements that are kept; older ones are dropped. */
const MOST = 1_000;

/**
 * Returns the settings of the task file and of configuration files that widen what may run or be reached, and that the user
 * has not agreed to yet. Options are the user's own.
 */
export function unagreedSettings(
  { projectDir, env, mode: driver = 'hook', agreed = [] }: Pick<StartRequest, 'projectDir' | 'env' | 'mode' | 'agreed'>,
  { sources, values, overridden }: Resolved,
): RiskySetting[] {
  const known = new Set([...remembered(env), ...agreed]);
  return KEY_PATHS.flatMap((key): RiskySetting[] => {
    const source = sources[key] ?? 'default';
    const value = valueAt(values, key);
    const isFromFile = source === 'frontmatter' || source.endsWith(' config');
    if (!isFromFile || value === null || value === undefined) return [];
    if (!widens(key, value, { source, driver, wider: overridden[key] ?? [] })) return [];
    const setting = riskySetting(projectDir, source, key, value);
    return known.has(setting.digest) ? [] : [setting];
  });
}

/** Returns a setting as it is shown and remembered; one of a project counts only there. */
export function riskySetting(projectDir: string, source: Source, key: string, value: unknown): RiskySetting {
  // A worktree belongs to its main project.
  const [project = projectDir] = realpathSync(projectDir).split(`/${WORKTREES}/`);
  const place = source === 'user config' ? null : project;
  const digest = sha256(JSON.stringify([place, key, value]));
  const from = source === 'frontmatter' ? 'task file' : source;
  return { line: `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}  (${from})`, digest };
}

/** Throws RalphError `refused` for settings that the user has not agreed to. */
export function requireAgreed({ request, resolved }: Prepared): void {
  const open = request.consented ? unagreedSettings(request, resolved) : [];
  if (open.length === 0) return;
  throw new RalphError('refused', settingsRefusal(request, open));
}

export function settingsRefusal(
  { name, mode = 'hook' }: Pick<StartRequest, 'name' | 'mode'>,
  open: readonly RiskySetting[],
) {
  return about(START_TEXTS.settingsUnagreed(open.map(({ line }) => line)), { name, mode });
}

export function rememberAgreed(env: NodeJS.ProcessEnv, settings: readonly Pick<RiskySetting, 'digest'>[]): void {
  if (settings.length === 0) return;
  const all = new Set([...remembered(env), ...settings.map(({ digest }) => digest)]);
  writeRecord(pathOf(env), [...all].slice(-MOST));
}

/** Returns the agreements; none for an unreadable file, so that the user is asked again. */
function remembered(env: NodeJS.ProcessEnv): string[] {
  const found = readRecord<unknown[]>(pathOf(env));
  return Array.isArray(found) ? found.map(String) : [];
}

function pathOf(env: NodeJS.ProcessEnv): string {
  return join(outsideRoot(env), 'agreed-settings.json');
}
