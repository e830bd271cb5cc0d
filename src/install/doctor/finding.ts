import type { Policy } from '../../engine/schema/contract.ts';
import type { FoundClient, HookProblem } from '../../hosts/host.ts';
import { show } from '../../state/process/program.ts';
import type { Message } from '../../text/message.ts';
import { readManifest } from '../project-files.ts';
import type { SettingsSource } from '../settings/settings-sources.ts';
import { hooksIn, isOurHook } from '../settings/stop-hooks.ts';

/** Input of the checks, including everything from outside the project, so that tests can set it. */
export interface Examined {
  readonly projectDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  readonly bundle: string;
  readonly version: string;
  readonly now: string;
  readonly node: { readonly path: string };
  readonly client: FoundClient | null;
  readonly sources: readonly SettingsSource[];
  /** Where another client has hooks of ours, and why that client would not run them; null if it would. */
  readonly hostHooks?: readonly {
    readonly place: string;
    /** Command with which the user begins a session of a loop. */
    readonly begin: string;
    readonly problem: HookProblem | null;
  }[];
  /** Policy of a loop on PROMPT.md; null if its settings have errors. */
  readonly policy: Policy | null;
  /** Total timeout of the gate's commands, in seconds. */
  readonly gateSeconds: number;
  /** Error in the settings of loops: in the task file, config.json or the environment; or null. */
  readonly settingsProblem: string | null;
}

/** Returns whether loops of this project are started by hand: `init` has run, or our hooks are registered. */
export function isSetUp({ projectDir, sources }: Examined): boolean {
  const registered = sources.flatMap(({ value, path }) => hooksIn(value, path));
  return readManifest(projectDir) !== null || registered.some(({ entry }) => isOurHook(entry));
}

export interface Outcome {
  readonly level: 'ok' | 'warning' | 'error';
  readonly message: string;
  readonly fix: string | null;
  /** Repairs it without losing anything of the user's: a function, or another run of `init`; undefined if only a person can. */
  readonly repair?: (() => void) | 'init' | undefined;
  /** True if the fix is a run of `init`. */
  readonly isInit?: boolean;
}

/** Examines one thing and returns the results; empty if the check does not apply. */
export type Check = (examined: Examined) => readonly Outcome[];

export const ok = (message: string): Outcome => ({ level: 'ok', message, fix: null });

const outcomeOf =
  (level: Outcome['level']) =>
  (message: string, fix: Message | string | null, repair?: Outcome['repair']): Outcome => {
    const advice = (fix !== null && typeof fix !== 'string' && fix.advice) || [];
    const isInit = advice.some(({ command }) => command.startsWith('init'));
    return { level, message, fix: fix === null ? null : show(fix), repair, isInit };
  };
export const warning = outcomeOf('warning');
export const error = outcomeOf('error');

export const orFine = (problems: readonly Outcome[], fine: string): readonly Outcome[] =>
  problems.length > 0 ? problems : [ok(fine)];
