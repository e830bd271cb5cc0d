import type { Contract } from '../../../engine/schema/contract.ts';
import type { LoopState } from '../../../engine/schema/state.ts';
import { recordNotice } from '../../../state/event-stream.ts';
import type { LoopFiles } from '../../../state/loop-files.ts';
import type { GitPins } from '../../../task/git/run-git.ts';
import { buildContract } from '../../../task/settings/build-contract.ts';
import { taskKind } from '../../../task/task-file.ts';
import { checklistItems } from '../../../text/markdown/lists.ts';
import { RalphError } from '../../../text/message.ts';
import { type Operated, operate } from '../../control/operate.ts';
import { readTask } from '../../prompt/read-task.ts';
import { tddTerms } from '../../tdd/scenario-list.ts';
import { START_TEXTS } from '../../turn/messages.ts';
import { prepareContract } from '../prepare-contract.ts';
import { formerEvidence } from '../resume/former-evidence.ts';
import { storeLoop } from '../store-loop.ts';

/**
 * Takes the present state as a new start of a loop in a live session whose evidence is lost, and resumes it. A lost contract
 * is made again from the task file, the view of the repository from `pins`. Every report says so.
 */
export function renewEvidence(
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  at: string,
  bundleDir: string,
  pins: GitPins | null = null,
): Operated {
  return operate(files, env, at, (state) => {
    if (state.status !== 'paused' || state.paused.reason !== 'evidence-lost') return { kind: 'resume' };
    const contract = formerEvidence(files, state).live?.contract ?? newContract(files, env, at, bundleDir, state);
    if (pins === null && contract.policy.plan !== undefined) throw new RalphError('refused', START_TEXTS.noGitSettings);
    recordNotice(files, state, { at, kind: 'evidence', text: START_TEXTS.newStart('') });
    const task = taskKind(contract.taskPath) === 'checklist' ? readTask(files.projectDir, contract.taskPath) : null;
    const { stored } = storeLoop(files, contract, {
      env,
      at,
      state,
      items: task === null ? [] : checklistItems(task.body),
      former: contract,
      isNew: false,
      isLost: true,
      baseline: null,
      startPoint: null,
      gitPins: pins,
      keepsListConsent: true,
    });
    const { maxIterations } = contract.policy;
    return { kind: 'resume', renewed: { contractHash: stored.hash, maxIterations } };
  });
}

function newContract(
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  at: string,
  bundleDir: string,
  { taskPath, mode, loopId, plan, sessionId }: LoopState,
): Contract {
  const { terms } = prepareContract({
    projectDir: files.projectDir,
    name: files.name,
    task: taskPath,
    flags: {},
    env,
    at,
    consented: true,
    headless: sessionId === null,
    bundleDir,
    mode,
    plan: plan === undefined ? null : { from: null },
  });
  const tdd = tddTerms(files, { at }, loopId);
  return buildContract({ ...terms, loopId, ...(tdd && { tdd }) }).contract;
}
