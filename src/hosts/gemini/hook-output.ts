import type { HookHost, HookOutput } from '../hook-io/hook-host.ts';
import type { HookAnswer } from '../hook-io/stdio.ts';
import { CONTINUES, EVENTS, readGemini } from './payload.ts';

/** Returns an answer in the form of Gemini CLI, which reads JSON with exit code 0 and ignores fields that it does not know. */
export function geminiOutput(event: string, answer: HookAnswer): HookOutput {
  const { decision, reason = '', systemMessage = '', stopReason = '', hookSpecificOutput: more } = answer;
  const context = more?.additionalContext ?? '';
  const said = systemMessage.trim() === '' ? {} : { systemMessage };
  if (event === 'Stop') {
    const prompt = [reason, context].filter((text) => text.trim() !== '').join('\n\n');
    if (answer.continue === false) return printed({ continue: false, stopReason, ...said });
    return printed(decision === 'block' ? { decision: 'deny', reason: `${CONTINUES}${prompt}`, ...said } : said);
  }
  if (event === 'PreToolUse') {
    const isEnd = answer.continue === false;
    if (!isEnd && more?.permissionDecision !== 'deny') return printed(said);
    const why = more?.permissionDecisionReason?.trim() || 'ralph-loop denies this call.';
    return printed({ ...(isEnd && { continue: false, stopReason }), decision: 'deny', reason: why, ...said });
  }
  const own = Object.keys(EVENTS).find((name) => EVENTS[name] === event) ?? event;
  const told = context === '' ? {} : { hookSpecificOutput: { hookEventName: own, additionalContext: context } };
  return printed({ ...said, ...told });
}

function printed(answer: object): HookOutput {
  return { stdout: Object.keys(answer).length === 0 ? '' : JSON.stringify(answer), stderr: '', code: 0 };
}

const MACHINE_FOLDERS: Partial<Record<NodeJS.Platform, string>> = {
  darwin: '/Library/Application Support/GeminiCli',
  win32: 'C:\\ProgramData\\gemini-cli',
};

export const GEMINI_HOOKS: HookHost = {
  name: 'gemini',
  agentVariable: 'GEMINI_CLI',
  read: readGemini,
  output: geminiOutput,
  tellsAfterCalls: true,
  typesUnasked: false,
  namesCallDir: true,
  hooksSteer: true,
  settings: {
    folder: '.gemini',
    files: ['settings.json', '.env', 'trustedFolders.json'],
    variable: 'GEMINI_CLI_HOME',
    namesHome: true,
    machine: MACHINE_FOLDERS[process.platform] ?? '/etc/gemini-cli',
  },
};
