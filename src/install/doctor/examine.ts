import { initProject } from '../init-project.ts';
import { readManifest } from '../install-manifest.ts';
import { checkBlockCap } from './check-block-cap.ts';
import { checkClient } from './check-client.ts';
import { checkHookFiles } from './check-hook-files.ts';
import { checkLoops } from './check-loops.ts';
import { checkNode } from './check-node.ts';
import { checkOtherHooks } from './check-other-hooks.ts';
import { checkPlaces } from './check-places.ts';
import { checkRegistration } from './check-registration.ts';
import { checkSettings } from './check-settings.ts';
import { checkTask } from './check-task.ts';
import { checkTrust } from './check-trust.ts';
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
