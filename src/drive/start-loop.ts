import { randomUUID } from 'node:crypto';
import { adoptFourKeys, initialState } from '../core/initial-state.ts';
import { RalphError } from '../core/ralph-error.ts';
import { resumeState } from '../core/resume-state.ts';
import type { LoopState } from '../core/schema/state.ts';
import { archiveState, listArchive, quarantine } from '../state/archive.ts';
import { type StoredContract, writeContract } from '../state/contract-store.ts';
import { type LoopFiles, loopFiles } from '../state/loop-files.ts';
import type { ReadState } from '../state/read-state.ts';
import { removeIfThere } from '../state/remove-if-there.ts';
import { withState } from '../state/with-state.ts';
import { buildContract } from '../task/build-contract.ts';
import { DEFAULT_TASK } from '../task/default-task.ts';
import type { Problem } from '../task/problem.ts';
import type { Settings } from '../task/resolve-policy.ts';
import { clientAlive } from './hook/ownership.ts';
import { type ContractRequest, prepareContract } from './prepare-contract.ts';
import { START_TEXTS } from './texts.ts';

export interface StartRequest extends ContractRequest {
  /** What to do about a state that lies there: go on with it, put it into the archive, or refuse. */
  readonly existing: 'resume' | 'fresh' | 'refuse';
  /** false when an agent asks for the loop: it then awaits the user's consent. */
  readonly consented: boolean;
}

export interface StartedLoop {
  readonly loopId: string;
  readonly files: LoopFiles;
  readonly state: LoopState;
  readonly stored: StoredContract;
  readonly settings: Settings;
  readonly warnings: readonly Problem[];
}

const SETTLE_WAIT = { waitMs: 10_000 } as const;

/**
 * Starts a loop: everything that decides it is read, checked and fixed in the contract once, here. Throws RalphError
 * with every problem at once; then nothing was changed.
 */
export function startLoop(request: StartRequest): StartedLoop {
  const { projectDir, name, env, at } = request;
  const files = loopFiles(projectDir, name, env);
  const prepared = prepareContract(request);
  return withState(files, SETTLE_WAIT, (current) => {
    const before = settle(current, request, files);
    const loopId = before?.loopId ?? `loop-${randomUUID()}`;
    const stored = buildContract({ ...prepared.terms, loopId });
    const { maxIterations } = prepared.resolved.policy;
    const base: LoopState =
      before ??
      initialState({
        loopId,
        name,
        mode: 'hook',
        taskPath: prepared.terms.taskPath,
        contractHash: stored.hash,
        maxIterations,
        at,
        consented: request.consented,
      });
    const state: LoopState = {
      ...base,
      contractHash: stored.hash,
      maxIterations,
      taskPath: prepared.terms.taskPath,
    };
    if (state.iteration >= maxIterations) {
      throw new RalphError('usage', START_TEXTS.noIterationsLeft(state.iteration, maxIterations));
    }
    // The contract first: a crash in between leaves a contract without a loop, which binds nobody.
    writeContract(files, stored);
    removeIfThere(files.tombstone);
    const { settings } = prepared.resolved;
    return { next: state, result: { loopId, files, state, stored, settings, warnings: prepared.warnings } };
  });
}

/** A start by hand, from the SessionStart hook: null, or the problem to tell the user. */
export function startByHand(projectDir: string, env: NodeJS.ProcessEnv, at: string): string | null {
  try {
    startLoop({
      projectDir,
      name: null,
      task: null,
      flags: {},
      env,
      at,
      existing: 'refuse',
      headless: env['CLAUDE_CODE_SESSION_ATTENDED'] === '0',
      consented: true,
      clientVersion: null,
      bundleDir: null,
    });
    return null;
  } catch (error) {
    if (error instanceof RalphError) return `no loop was started. ${error.message}`;
    throw error;
  }
}

/** What is done about the state that lies there; the loop to go on with, or null for a new one. */
function settle(current: ReadState, request: StartRequest, files: LoopFiles): LoopState | null {
  const { at, existing } = request;
  switch (current.kind) {
    case 'absent':
      return existing === 'resume' ? resumeState(lastArchived(files), at) : null;
    case 'corrupt':
      quarantine(files, at, 'corrupt');
      return existing === 'resume' ? resumeState(lastArchived(files), at) : null;
    case 'newer':
      throw new RalphError('state-newer', START_TEXTS.newer(files.state));
    case 'four-keys': {
      if (existing === 'refuse') throw new RalphError('refused', START_TEXTS.stateLies(current.file.iteration));
      const adopted = adoptFourKeys(current.file, {
        loopId: `loop-${randomUUID()}`,
        name: files.name,
        mode: 'hook',
        taskPath: DEFAULT_TASK,
        maxIterations: 100,
      });
      if (existing === 'resume') return resumeState(adopted, at);
      archiveState(files, adopted, at, 'interrupted');
      return null;
    }
    case 'loop':
      return settleLoop(current.state, request, files);
    default:
      return current satisfies never;
  }
}

function settleLoop(state: LoopState, { at, existing }: StartRequest, files: LoopFiles): LoopState | null {
  if (state.status === 'ended') {
    archiveState(files, state, state.ended.at, state.ended.as);
    return existing === 'resume' ? resumeState(state, at) : null;
  }
  if (clientAlive(state)) throw new RalphError('refused', START_TEXTS.alive(state.iteration, state.clientPid ?? 0));
  if (existing === 'refuse') throw new RalphError('refused', START_TEXTS.stateLies(state.iteration));
  if (existing === 'resume') return resumeState(state, at);
  archiveState(files, state, at, 'interrupted');
  return null;
}

function lastArchived(files: LoopFiles): LoopState {
  const last = listArchive(files)
    .reverse()
    .find(({ content }) => content.kind === 'loop');
  if (last?.content.kind === 'loop') return last.content.state;
  throw new RalphError('no-loop', START_TEXTS.nothingToResume);
}
