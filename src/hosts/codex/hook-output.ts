import type { HookHost, HookOutput } from '../hook-io/hook-host.ts';
import type { HookAnswer } from '../hook-io/stdio.ts';

const SILENT: HookOutput = { stdout: '', stderr: '', code: 0 };

/** Events whose answer may have context for the model. */
const TAKES_CONTEXT = new Set(['PreToolUse', 'PostToolUse', 'UserPromptSubmit', 'SessionStart', 'SubagentStart']);
/** Events whose reason continues the turn. */
const GOES_ON = new Set(['Stop', 'SubagentStop']);

/**
 * Returns an answer in the form that Codex accepts. It parses strictly: one field that it does not know, an empty reason or
 * `continue: false` before a tool makes the whole answer void, and the tool runs. So a denial is exit code 2 with its text on
 * standard error, and only fields that were measured for the event are written.
 */
export function codexOutput(event: string, answer: HookAnswer): HookOutput {
  const { decision, reason, systemMessage, stopReason, hookSpecificOutput: more } = answer;
  if (event === 'PreToolUse' && (answer.continue === false || more?.permissionDecision === 'deny')) {
    const stderr = textOr(more?.permissionDecisionReason, stopReason, 'ralph-loop denies this call.');
    return { stdout: '', stderr, code: 2 };
  }
  const context = textOr(more?.additionalContext);
  const said = textOr(systemMessage) === '' ? {} : { systemMessage };
  if (GOES_ON.has(event)) {
    if (answer.continue === false) return printed({ continue: false, stopReason: textOr(stopReason), ...said });
    const block = decision === 'block' ? [reason, context].filter((text) => textOr(text) !== '').join('\n\n') : '';
    return printed(block === '' ? said : { decision: 'block', reason: block, ...said });
  }
  const told = context !== '' && TAKES_CONTEXT.has(event);
  return printed({
    ...said,
    ...(told && { hookSpecificOutput: { hookEventName: event, additionalContext: context } }),
  });
}

function printed(answer: object): HookOutput {
  return Object.keys(answer).length === 0 ? SILENT : { ...SILENT, stdout: JSON.stringify(answer) };
}

/** Returns the first text that is not blank; '' if there is none. */
function textOr(...texts: readonly (string | undefined)[]): string {
  return texts.find((text) => text !== undefined && text.trim() !== '') ?? '';
}

export const CODEX_HOOKS: HookHost = {
  name: 'codex',
  agentVariable: 'CODEX_CI',
  output: codexOutput,
  typesUnasked: true,
  namesCallDir: true,
  hooksSteer: true,
  settings: {
    folder: '.codex',
    files: ['config.toml', 'hooks.json'],
    variable: 'CODEX_HOME',
    namesHome: false,
    machine: '/etc/codex',
  },
};
