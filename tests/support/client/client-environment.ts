import { dirname } from 'node:path';
import { COMMAND_DIR } from '../command-path.ts';
import { testApiKey } from './client-config.ts';
import type { Workspace } from './workspace.ts';

export type Environment = Readonly<Record<string, string>>;

/** A value of undefined takes a variable out. */
export type EnvironmentChanges = Readonly<Record<string, string | undefined>>;

/**
 * The whole environment of a client under test, built from nothing, so that no variable of an outer session (CLAUDECODE, RALPH_ACTIVE, keys)
 * leaks in. `node` of the test run is on the PATH, and `claude` is the pinned client.
 */
export const clientEnvironment = (
  workspace: Workspace,
  modelUrl: string | undefined,
  changes: EnvironmentChanges = {},
): Environment => {
  const all: EnvironmentChanges = {
    PATH: [workspace.binDir, COMMAND_DIR, dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
    HOME: workspace.home,
    CLAUDE_CONFIG_DIR: workspace.configDir,
    XDG_STATE_HOME: workspace.stateHome,
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
    SHELL: '/bin/bash',
    ANTHROPIC_API_KEY: testApiKey,
    ANTHROPIC_BASE_URL: modelUrl,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    // In a terminal the client would have git fetch its list of plugins.
    CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: '1',
    CLAUDE_CODE_MAX_RETRIES: '1',
    IS_SANDBOX: '1',
    // npm would ask its registry for a newer npm, and say so in the output of a test's commands.
    npm_config_update_notifier: 'false',
    ...changes,
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
};
