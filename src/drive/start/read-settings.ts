import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import { regularFile } from '../../state/files/read-regular-file.ts';
import type { ConfigSource, SettingSources } from '../../task/settings/layers.ts';
import { loopDirectory, RUN_CONFIG } from '../../task/task-file.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { START_TEXTS } from '../turn/messages.ts';

const PROJECT_CONFIG = '.claude/ralph/config.json';

/** Reads the configuration files of a task; `runs` includes `.ralph/config.json`. Throws RalphError `task-invalid`. */
export function readConfigs(
  projectDir: string,
  taskPath: string,
  env: NodeJS.ProcessEnv,
  runs: boolean,
): Pick<SettingSources, 'loopConfig' | 'runConfig' | 'projectConfig' | 'userConfig' | 'paths'> {
  const own = loopDirectory(projectDir, taskPath)?.config ?? null;
  const user = userConfigPath(env);
  const paths: Record<ConfigSource, string> = {
    'loop config': own === null ? '' : relative(projectDir, own),
    'run config': RUN_CONFIG,
    'project config': PROJECT_CONFIG,
    'user config': user,
  };
  return {
    loopConfig: own === null ? undefined : readJson(own, paths['loop config']),
    runConfig: runs ? readJson(join(projectDir, RUN_CONFIG), RUN_CONFIG) : undefined,
    projectConfig: readJson(join(projectDir, PROJECT_CONFIG), PROJECT_CONFIG),
    userConfig: readJson(user, user),
    paths,
  };
}

export function userConfigPath(env: NodeJS.ProcessEnv): string {
  const base = env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config');
  return join(base, 'ralph-loop', 'config.json');
}

function readJson(path: string, shown: string): unknown {
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(regularFile(path), 'utf8'));
  } catch (error) {
    throw new RalphError('task-invalid', START_TEXTS.badConfig(shown, (error as Error).message), error);
  }
}
