import { readManifest } from '../files/install-manifest.ts';
import { initProject } from '../init-project.ts';
import { checkBlockCap, checkClient, checkNode } from './check-client.ts';
import { checkHookFiles, checkOtherHooks } from './check-hook-files.ts';
import { checkLoops, checkTask } from './check-loops.ts';
import { checkPlaces, checkTrust } from './check-places.ts';
import { checkRegistration, checkSettings } from './check-registration.ts';
import type { Check, Examined, Finding } from './finding.ts';
import { selfTest } from './self-test.ts';

/** In the order in which a person would look. */
const CHECKS: readonly Check[] = [
  checkNode,
  checkClient,
  checkSettings,
  checkRegistration,
  checkHookFiles,
  checkOtherHooks,
  checkBlockCap,
  checkTrust,
  checkPlaces,
  checkTask,
  checkLoops,
  selfTest,
];

/** Everything that can keep a loop from running in this project. Changes nothing; a finding's `fix` does. */
export function examine(examined: Examined): Finding[] {
  const { projectDir, bundle, version, platform } = examined;
  // Only where init was run before: setting up a project is a decision of its own.
  const initAgain =
    readManifest(projectDir) === null
      ? undefined
      : (): void => void initProject({ projectDir, bundle, version, platform });
  return CHECKS.flatMap((check) => check(examined)).map((finding) =>
    finding.mend === 'main.cjs init.' && initAgain ? { ...finding, fix: initAgain } : finding,
  );
}
