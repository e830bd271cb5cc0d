import { readManifest } from '../files/install-manifest.ts';
import { initProject } from '../init-project.ts';
import { isPluginEnabled } from '../settings/settings-sources.ts';
import * as environment from './environment.ts';
import type { Check, Examined, Outcome } from './finding.ts';
import * as hooks from './hooks.ts';
import * as loops from './loops.ts';
import { selfTest } from './self-test.ts';

export interface Finding extends Omit<Outcome, 'repair'> {
  readonly check: string;
  readonly repair?: (() => void) | undefined;
}

/** Checks by stable name, in the order in which a person would look. */
const CHECKS: Readonly<Record<string, Check>> = {
  'node-on-path': environment.nodeOnPath,
  'node-version': environment.nodeVersion,
  'extra-ca-certs': environment.extraCertificates,
  client: environment.client,
  'settings-readable': hooks.settingsReadable,
  'hooks-enabled': hooks.hooksEnabled,
  'managed-settings': hooks.managedSettings,
  registration: hooks.registration,
  'stop-timeout': hooks.stopTimeout,
  'hook-files': hooks.hookFiles,
  launcher: hooks.launcher,
  'other-stop-hooks': hooks.otherStopHooks,
  'block-cap': environment.blockCap,
  'workspace-trust': environment.workspaceTrust,
  'runtime-dir': environment.runtimeDir,
  'hard-links': environment.hardLinks,
  'state-home': environment.stateHome,
  sandbox: environment.sandbox,
  'task-file': loops.taskFile,
  'loop-settings': loops.loopSettings,
  'state-file': loops.stateFiles,
  'stale-state': loops.staleStates,
  'left-lock': loops.leftLocks,
  'left-behind': loops.leftBehind,
  'self-test': selfTest,
};

/** Finds everything that can keep a loop from running in this project. Changes nothing; a finding's `repair` does. */
export function examine(examined: Examined): Finding[] {
  // Only where init has run before: setting up a project is the user's decision.
  const pluginEnabled = isPluginEnabled(examined.sources);
  const init = (): void => void initProject({ ...examined, pluginEnabled });
  const initAgain = readManifest(examined.projectDir) === null ? undefined : init;
  return Object.entries(CHECKS).flatMap(([check, run]) =>
    run(examined).map((outcome) => ({
      ...{ check, ...outcome },
      repair: outcome.repair === 'init' ? initAgain : outcome.repair,
    })),
  );
}
