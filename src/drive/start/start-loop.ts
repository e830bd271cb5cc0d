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
import { loopToContinue } from './existing-loop.ts';
import { type PreparedContract, prepareContract, type StartRequest } from './prepare-contract.ts';

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
  const { projectDir, name, env, at, mode = 'hook' } = request;
  const files = loopFiles(projectDir, name, env);
  const prepared = prepareContract(request);
  tidy(files, at);
  makeRuntimeDir(files);
  const { started, event } = withState(files, LOCK_WAIT, (current) => {
    const before = loopToContinue(current, request, files);
    const loopId = before?.loopId ?? `loop-${randomUUID()}`;
    const tdd = tddTerms(files, request, before?.loopId ?? null);
    const list = tdd === undefined ? null : peekTdd(files);
    if (request.approved !== undefined) requireApproved(request.approved, preparedTerms(prepared, list));
    const { contract } = buildContract({ ...prepared.terms, loopId, ...(tdd && { tdd }) });
    const stored = withConsentDigest(contract, list);
    const { maxIterations } = prepared.resolved.policy;
    const base: LoopState =
      before ??
      initialState({
        loopId,
        name,
        mode,
        taskPath: prepared.terms.taskPath,
        contractHash: stored.hash,
        maxIterations,
        at,
        consented: request.consented,
        checklist: prepared.checklist,
      });
    if (before === null) refuseFinished(prepared);
    const state: LoopState = {
      ...base,
      mode,
      contractHash: stored.hash,
      maxIterations,
      taskPath: prepared.terms.taskPath,
      program: programName(),
      ...(prepared.terms.policy.plan && { plan: resumedPlan(base, prepared.terms.policy.plan.maxTasks) }),
      // A resumed loop takes its list as it stands.
      ...(before !== null && prepared.checklist && { checklist: counted(prepared.checklist, undefined) }),
    };
    if (state.iteration >= maxIterations) {
      throw new RalphError('usage', about(START_TEXTS.noIterationsLeft(state.iteration, maxIterations), state));
    }
    // List and contract first: after a crash in between both are without a loop and have no effect.
    if (tdd) bindList(files, tdd, { loopId, at, consented: request.consented, env });
    writeContract(files, stored);
    removeIfThere(files.cancellation);
    if (before === null) {
      dropPromptedTurn(files);
      dropOpenTask(files);
    }
    const event = startedEvent(state, at, before !== null);
    recordJournal(files, at, [event]);
    const { settings } = prepared.resolved;
    const started = { loopId, files, state, stored, settings, warnings: prepared.warnings };
    return { next: state, result: { started, event } };
  });
  projectionOf(files, at, started.stored.contract).begin(event, countedBy(started.state));
  return started;
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

/** Refuses a checklist with nothing open: an agent would look for work. */
function refuseFinished({ checklist, terms }: PreparedContract): void {
  if (checklist === null || checklist.total === 0 || checklist.done < checklist.total) return;
  throw new RalphError('usage', START_TEXTS.allChecked(terms.taskPath, checklist.total));
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
