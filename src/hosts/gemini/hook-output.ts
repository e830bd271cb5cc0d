import type { HookHost, HookOutput } from '../hook-io/hook-host.ts';
import { hookOutput, printed } from '../hook-io/hook-output.ts';
import type { HookAnswer } from '../hook-io/stdio.ts';
import { CONTINUES, EVENTS, readGemini } from './payload.ts';

/** Returns an answer in the form of Gemini CLI, which reads JSON with exit code 0 and ignores fields that it does not know. */
export function geminiOutput(event: string, answer: HookAnswer): HookOutput {
  return hookOutput(event, answer, {
    block: (prompt) => ({ decision: 'deny', reason: `${CONTINUES}${prompt}` }),
    denial: (reason, more) => printed({ decision: 'deny', reason, ...more }),
    // It drops a text for the agent in the answer before a call.
    takesContext: (name) => (name === 'PreToolUse' ? null : (OWN_NAMES.get(name) ?? name)),
  });
}

/** Gemini CLI's event for each event of Claude Code. */
const OWN_NAMES = new Map<string, string>(Object.entries(EVENTS).map(([own, event]) => [event, own]));

const MACHINE_FOLDERS: Partial<Record<NodeJS.Platform, string>> = {
  darwin: '/Library/Application Support/GeminiCli',
  win32: 'C:\\ProgramData\\gemini-cli',
};
export const MACHINE_FOLDER = MACHINE_FOLDERS[process.platform] ?? '/etc/gemini-cli';

export const GEMINI_HOOKS: HookHost = {
  name: 'gemini',
  agentVariable: 'GEMINI_CLI',
  read: readGemini,
  output: geminiOutput,
  tellsAfterCalls: true,
  namesCallDir: true,
  hooksSteer: true,
  settings: {
    folder: '.gemini',
    files: ['settings.json', '.env', 'trustedFolders.json'],
    variable: 'GEMINI_CLI_HOME',
    namesHome: true,
    machine: MACHINE_FOLDER,
  },
};
