import { dirname, join } from 'node:path';
import { shellWord } from '../core/shell-word.ts';
import { fullRegistration, type Registration } from './registration.ts';

export interface LaunchedLoop {
  readonly loopId: string;
  /** null for the project's default loop. */
  readonly name: string | null;
  /** The node that runs the launcher: the hooks run the same one. */
  readonly node: string;
  /** Absolute path of main.cjs. */
  readonly mainPath: string;
  /** The command of the user's own status line, which ours runs as well; null where they have none. */
  readonly userStatusLine: string | null;
}

export interface LauncherSettings {
  readonly disableAllHooks: false;
  readonly env: Readonly<Record<string, string>>;
  readonly hooks: Registration;
  readonly statusLine: { readonly type: 'command'; readonly command: string; readonly refreshInterval: number };
}

/**
 * What the launcher passes to the client as `--settings`. Measured: so passed, with `disableAllHooks` said out loud,
 * hooks and variables survive an agent that writes other ones into the project's settings files.
 */
export function launcherSettings(loop: LaunchedLoop, platform: NodeJS.Platform = process.platform): LauncherSettings {
  return {
    disableAllHooks: false,
    env: {
      RALPH_ACTIVE: '1',
      RALPH_LOOP_ID: loop.loopId,
      ...(loop.name === null ? {} : { RALPH_LOOP: loop.name }),
      RALPH_NODE: loop.node,
      // An idle iteration makes no tool call: the client would override the ninth in a row.
      CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '0',
      ...(loop.userStatusLine === null ? {} : { RALPH_USER_STATUS_LINE: loop.userStatusLine }),
    },
    hooks: fullRegistration(platform),
    statusLine: { type: 'command', command: statusLineCommand(loop, platform), refreshInterval: 1 },
  };
}

function statusLineCommand({ node, mainPath }: LaunchedLoop, platform: NodeJS.Platform): string {
  const program = join(dirname(mainPath), 'statusline.cjs');
  if (platform === 'win32') return `"${node}" "${program}"`;
  return `NODE_EXTRA_CA_CERTS= exec ${shellWord(node)} ${shellWord(program)}`;
}
