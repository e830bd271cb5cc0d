import type { FoundClient } from '../../claude/find-client.ts';
import type { Policy } from '../../engine/schema/policy.ts';
import type { SettingsSource } from '../settings/settings-sources.ts';

export type Level = 'ok' | 'warning' | 'error';

/** One thing that was looked at. */
export interface Finding {
  /** Stable name of the check. */
  readonly check: string;
  readonly level: Level;
  readonly message: string;
  /** What to do about it; null where there is nothing to do. */
  readonly mend: string | null;
  /** Mends it without losing anything of the user's; undefined where only a person can. */
  readonly fix?: () => void;
}

/** What the checks look at. Everything that comes from outside the project comes in here, so that a test can say it. */
export interface Examined {
  readonly projectDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  readonly bundle: string;
  readonly version: string;
  readonly now: string;
  /** The node that runs this. */
  readonly node: { readonly path: string; readonly version: string };
  /** null where none was found. */
  readonly client: FoundClient | null;
  readonly sources: readonly SettingsSource[];
  /** What a loop on PROMPT.md would run with; null where its settings have errors. */
  readonly policy: Policy | null;
  /** Seconds that the commands of the gate may take together. */
  readonly gateSeconds: number;
  /** What is wrong with the settings of loops, in the task file, config.json or the environment; or null. */
  readonly settingsProblem: string | null;
}

export type Check = (examined: Examined) => readonly Finding[];

export function fine(check: string, message: string): Finding {
  return { check, level: 'ok', message, mend: null };
}
