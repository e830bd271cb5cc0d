import type { HookOutput } from './hook-host.ts';
import type { HookAnswer } from './stdio.ts';

/** What a client has in a form of its own. */
interface OutputForm {
  /** Returns the fields that continue a turn with this prompt. */
  readonly block: (prompt: string) => object;
  /** Denies a call; `more` has the end of the turn and the text for the user, if there are any. */
  readonly denial: (why: string, more: object) => HookOutput;
  /** Returns the client's name of an event whose answer may have context for the model; null for any other. */
  readonly takesContext: (event: string) => string | null;
}

/** Events whose reason continues the turn. */
const GOES_ON = ['Stop', 'SubagentStop'];

/** Returns an answer in the form of a client other than Claude Code, with no field that it does not need. */
export function hookOutput(event: string, answer: HookAnswer, { block, denial, takesContext }: OutputForm): HookOutput {
  const { decision, reason, systemMessage, stopReason, hookSpecificOutput: more } = answer;
  const said = filled(systemMessage).length === 0 ? {} : { systemMessage };
  const end = answer.continue === false ? { continue: false, stopReason: filled(stopReason).join('') } : {};
  const context = filled(more?.additionalContext);
  if (event === 'PreToolUse' && (answer.continue === false || more?.permissionDecision === 'deny')) {
    const [why = 'ralph-loop denies this call.'] = filled(more?.permissionDecisionReason, stopReason);
    return denial(why, { ...end, ...said });
  }
  if (GOES_ON.includes(event)) {
    const prompt = answer.continue !== false && decision === 'block' ? filled(reason, ...context).join('\n\n') : '';
    return printed({ ...end, ...(prompt !== '' && block(prompt)), ...said });
  }
  const hookEventName = context.length === 0 ? null : takesContext(event);
  const told = hookEventName !== null && { hookSpecificOutput: { hookEventName, additionalContext: context.join('') } };
  return printed({ ...said, ...told });
}

export function printed(answer: object): HookOutput {
  return { stdout: Object.keys(answer).length === 0 ? '' : JSON.stringify(answer), stderr: '', code: 0 };
}

function filled(...texts: readonly (string | undefined)[]): string[] {
  return texts.filter((text) => text !== undefined && text.trim() !== '') as string[];
}
