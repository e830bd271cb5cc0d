import type { ScriptedModel } from '../model/scripted-model.ts';
import { startTerminal, type Terminal } from '../terminal/terminal.ts';
import type { PermissionMode } from './client.ts';
import { clientEnvironment, type EnvironmentChanges } from './client-environment.ts';
import type { JsonObject, Workspace } from './workspace.ts';

export type InteractiveOptions = {
  readonly workspace: Workspace;
  readonly model: Pick<ScriptedModel, 'url'>;
  /** First prompt, as the client's argument. */
  readonly prompt?: string;
  readonly args?: readonly string[];
  readonly env?: EnvironmentChanges;
  readonly settings?: JsonObject;
  readonly permissionMode?: PermissionMode;
  readonly cwd?: string;
};

/** The terminal client, ready when its input line is on the screen. */
export const startInteractiveClient = async (options: InteractiveOptions): Promise<Terminal> => {
  const { workspace } = options;
  const terminal = await startTerminal({
    command: 'claude',
    args: [
      ...(options.prompt === undefined ? [] : [options.prompt]),
      '--permission-mode',
      options.permissionMode ?? 'bypassPermissions',
      ...(options.settings === undefined ? [] : ['--settings', JSON.stringify(options.settings)]),
      ...(options.args ?? []),
    ],
    env: clientEnvironment(workspace, options.model.url, options.env),
    cwd: options.cwd ?? workspace.project,
  });
  try {
    await terminal.waitFor(/^❯/m);
  } catch (error) {
    await terminal.close();
    throw error;
  }
  return terminal;
};
