import { randomUUID } from 'node:crypto';
import type { Effect } from '../../engine/effects.ts';
import { initialState } from '../../engine/initial-state.ts';
import { resumedPlan } from '../../engine/plan/attempt.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { counted } from '../../engine/transitions/checklist.ts';
import { type StoredContract, writeContract } from '../../state/contract-store.ts';
import { removeIfThere } from '../../state/files/read-regular-file.ts';
import { sweepLeftovers } from '../../state/lock/sweep-leftovers.ts';
import { log } from '../../state/log.ts';
import { type LoopFiles, loopFiles, makeRuntimeDir } from '../../state/loop-files.ts';
import { programName } from '../../state/process/program.ts';
import { peekTdd } from '../../state/tdd-store.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import type { Problem } from '../../task/frontmatter/problem.ts';
import { writeStartPoint } from '../../task/git/start-point.ts';
import { buildContract } from '../../task/settings/build-contract.ts';
import type { Settings } from '../../task/settings/resolve.ts';
import { about } from '../../text/message.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { dropOpenTask } from '../plan/open-task-file.ts';
import { recordJournal } from '../records/journal.ts';
import { dropPromptedTurn } from '../records/prompted-turn.ts';
import { countedBy, projectionOf } from '../records/status-projection.ts';
import { bindList, tddTerms } from '../tdd/tdd-terms.ts';
import { START_TEXTS } from '../turn/messages.ts';
import { preparedTerms, withConsentDigest } from './consent.ts';
import { requireApproved } from './consent-terms.ts';
import { continueExistingLoop } from './existing-loop.ts';
import { type PreparedContract, prepareContract } from './prepare-contract.ts';
import type { StartRequest } from './read-settings.ts';

export interface StartedLoop {
  readonly loopId: string;
  readonly files: LoopFiles;
  readonly state: LoopState;
  readonly stored: StoredContract;
  readonly settings: Settings;
  readonly warnings: readonly Problem[];
}

/** Starts a loop and fixes its contract. Throws RalphError with every problem, with nothing changed. */
export function startLoop(request: StartRequest): StartedLoop {
  const { projectDir, name, env, at } = request;
  const files = loopFiles(projectDir, name, env);
  const prepared = prepareContract(request);
  tidy(files, at);
  makeRuntimeDir(files);
  const { started, event } = withState(files, LOCK_WAIT, (current) => {
    const before = continueExistingLoop(current, request, files);
    const result = createLoop(request, files, prepared, before);
    return { next: result.started.state, result };
  });
  projectionOf(files, at, started.stored.contract).begin(event, countedBy(started.state));
  return started;
}

interface Created {
  readonly started: StartedLoop;
  readonly event: Effect;
}

/** Checks the user's approval and stores list, contract and journal entry; `before` is a loop to continue. Under the lock. */
function createLoop(
  request: StartRequest,
  files: LoopFiles,
  { resolved, terms, checklist, warnings }: PreparedContract,
  before: LoopState | null,
): Created {
  const { env, at, mode = 'hook', consented } = request;
  const { taskPath } = terms;
  const { maxIterations } = resolved.policy;
  const loopId = before?.loopId ?? `loop-${randomUUID()}`;
  const tdd = tddTerms(files, request, before?.loopId ?? null);
  const list = tdd === undefined ? null : peekTdd(files);
  if (request.approved !== undefined) requireApproved(request.approved, preparedTerms({ terms }, list));
  const { contract } = buildContract({ ...terms, loopId, ...(tdd && { tdd }) });
  const stored = withConsentDigest(contract, list);
  // In a checklist with nothing open an agent would look for work.
  if (before === null && checklist && checklist.total > 0 && checklist.done >= checklist.total) {
    throw new RalphError('usage', START_TEXTS.allChecked(taskPath, checklist.total));
  }
  const fixed = { mode, maxIterations, taskPath, contractHash: stored.hash };
  const base = before ?? initialState({ ...fixed, loopId, name: files.name, at, consented, checklist });
  const state: LoopState = {
    ...base,
    ...fixed,
    program: programName(),
    ...(terms.policy.plan && { plan: resumedPlan(base, terms.policy.plan.maxTasks) }),
    // A resumed loop takes its list as it stands.
    ...(before !== null && checklist && { checklist: counted(checklist, undefined) }),
  };
  if (state.iteration >= maxIterations) {
    throw new RalphError('usage', about(START_TEXTS.noIterationsLeft(state.iteration, maxIterations), state));
  }
  // List and contract first: after a crash in between both are without a loop and have no effect.
  if (tdd) bindList(files, tdd, { loopId, at, consented, env });
  writeContract(files, stored);
  removeIfThere(files.cancellation);
  if (before === null) {
    dropPromptedTurn(files);
    dropOpenTask(files);
    if (request.startPoint) writeStartPoint(files, loopId, request.startPoint);
  }
  const event = startedEvent(state, at, before !== null);
  recordJournal(files, at, [event]);
  return { started: { loopId, files, state, stored, settings: resolved.settings, warnings }, event };
}

/** Starts a loop by hand, from the SessionStart hook. Returns the problem, or warnings. */
export function startByHand(
  projectDir: string,
  env: NodeJS.ProcessEnv,
  at: string,
): { readonly problem: string | null; readonly warnings: readonly string[] } {
  try {
    const { warnings, stored } = startLoop({
      projectDir,
      name: null,
      task: null,
      flags: {},
      env,
      at,
      existing: 'refuse',
      headless: env['CLAUDE_CODE_SESSION_ATTENDED'] === '0',
      launched: false,
      consented: true,
      clientVersion: null,
      bundleDir: null,
    });
    const told = warnings.map(({ message }) => message);
    return {
      problem: null,
      warnings: stored.contract.validation.length > 0 ? told : [...told, START_TEXTS.nothingToVerify],
    };
  } catch (error) {
    if (error instanceof RalphError) return { problem: `no loop was started. ${error.message}`, warnings: [] };
    throw error;
  }
}

function startedEvent(state: LoopState, at: string, resumed: boolean): Effect {
  const { loopId, iteration, maxIterations, taskPath } = state;
  const type = resumed ? 'loop.resumed' : 'loop.started';
  return { type: 'record-event', event: { type, at, loopId, iteration, maxIterations, taskPath } };
}

/** Removes files of dead processes. A failure is logged and keeps no loop from starting. */
function tidy(files: LoopFiles, at: string): void {
  try {
    sweepLeftovers(files);
  } catch (error) {
    log(files, at, 'sweep', (error as Error).message);
  }
}
