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
  /**
   * Returns a payload with the events, tools and fields of Claude Code; `ignored` for a call that means nothing to a loop. Absent
   * if the client uses these itself.
   */
  readonly read?: (payload: Fields) => Fields | 'ignored';
  readonly output: (event: string, answer: HookAnswer) => HookOutput;
  readonly agentVariable: string;
  /** The client drops a text for the agent in the answer before a call, and delivers one after it. */
  readonly tellsAfterCalls?: true;
  /** Its input names the working directory of the call; a hook itself runs in that of the session. */
  readonly namesCallDir: boolean;
  /** The client takes no message from its runner while it works: its hooks deliver steering. */
  readonly hooksSteer: boolean;
  /**
   * Returns why no hook sees all that the agent does with a shell, by the commands of the processes above the hook, the nearest
   * first; null if hooks do, or nothing is known. Absent if they always do.
   */
  readonly whyUnseen?: (above: readonly (readonly string[])[]) => string | null;
  /** Files of the user and of a project that decide whether the client runs our hooks. Absent for Claude Code. */
  readonly settings?: {
    readonly folder: string;
    readonly files: readonly string[];
    /** Variable that names another folder of the user, or another home. */
    readonly variable: string;
    readonly namesHome: boolean;
    /** Folder of the settings of all users of the machine. */
    readonly machine: string;
  };
}
