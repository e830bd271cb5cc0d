import { join } from 'node:path';
import type { Fields } from '../fields.ts';
import type { HookAnswer } from './stdio.ts';

export interface HookOutput {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: 0 | 2;
}

/** How the hooks of a client are called and answered. */
export interface HookHost {
  readonly name: string;
  /** Command with which its user logs in again, in a session if it begins with a slash, else in a shell. */
  readonly login: string;
  /**
   * Returns a payload with the events, tools and fields of Claude Code; `ignored` for a call that means nothing to a loop. Absent
   * if the client itself uses these.
   */
  readonly read?: (payload: Fields) => Fields | 'ignored';
  readonly output: (event: string, answer: HookAnswer) => HookOutput;
  readonly agentVariable: string;
  /** Variables that only shells of the agent have, for those that were given no `RALPH_ACTIVE=0`. */
  readonly shellMarks?: readonly string[];
  /** Present if the client drops a text for the agent in the answer before a call, but delivers one after it. */
  readonly tellsAfterCalls?: true;
  /** True if its input names the working directory of the call; the hook itself runs in that of the session. */
  readonly namesCallDir: boolean;
  /** True if the client takes no message from its runner while it works: its hooks deliver steering. */
  readonly hooksSteer: boolean;
  /**
   * Returns why hooks do not see everything that the agent does with a shell, by the commands of the processes above the hook,
   * the nearest first; null if they do, or if nothing is known. Absent if they always do.
   */
  readonly whyUnseen?: (above: readonly (readonly string[])[]) => string | null;
  /** The user's and a project's files that decide whether the client runs our hooks. Absent for Claude Code. */
  readonly settings?: {
    readonly folder: string;
    readonly files: readonly string[];
    /** Variable that names another folder of the user, or another home. */
    readonly variable: string;
    readonly namesHome: boolean;
    /** Folder of the settings for all users of the machine. */
    readonly machine: string;
  };
}

/** Returns the folders with a client's settings, of the user and of projects. */
export function clientFolders(
  { folder, variable, namesHome }: NonNullable<HookHost['settings']>,
  home: string,
  projects: readonly string[],
  env: NodeJS.ProcessEnv,
): string[] {
  const named = env[variable];
  const user = named && !namesHome ? named : join(named || home, folder);
  return [user, ...projects.map((project) => join(project, folder))];
}

/** The parts of an answer for which a client has its own form. */
interface OutputForm {
  /** Returns the fields that continue a turn with this prompt. */
  readonly block: (prompt: string) => object;
  /** Denies a call; `more` has the end of the turn and the text for the user, if any. */
  readonly denial: (why: string, more: object) => HookOutput;
  /** Returns the client's name of an event whose answer may contain context for the model; null for any other event. */
  readonly takesContext: (event: string) => string | null;
}

/** Events whose reason continues the turn. */
const GOES_ON = ['Stop', 'SubagentStop'];

/** Returns an answer in the form of a client other than Claude Code, without unnecessary fields. */
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
