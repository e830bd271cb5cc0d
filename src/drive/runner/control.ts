import type { LoopState } from '../../core/schema/state.ts';
import { findContract } from '../../state/contract-store.ts';
import { BEAT_MS } from '../../state/heartbeat.ts';
import { log } from '../../state/log.ts';
import { readState } from '../../state/read-state.ts';
import { runFiles } from '../../state/run-files.ts';
import { takeFlags } from '../../state/run-flags.ts';
import { taskFolder } from '../../task/task-folder.ts';
import { checklistNow } from '../checklist-now.ts';
import { operate } from '../operate.ts';
import { mirrorOf } from '../task/mirror.ts';
import type { Runner } from './runner.ts';
import { steerAgent } from './steer-agent.ts';
import { tellChecklist } from './tell-checklist.ts';

/** Others steer the loop through its files: heard within half a second. */
const LOOK_MS = 330;

/** Hears what others want of the loop while the runner is busy, until what it gives back is called. */
export function listenToOthers(runner: Runner): () => void {
  let shown = Date.now();
  const timer = setInterval(() => {
    try {
      if (Date.now() - shown >= BEAT_MS) {
        shown = Date.now();
        showAlive(runner);
      }
      heedFlags(runner);
      lookAround(runner);
    } catch (error) {
      // A disk that fails now may work at the next look; the iteration's own end tells where it does not.
      log(runner.files, runner.turn.context.now(), 'runner', (error as Error).message);
    }
  }, LOOK_MS);
  return () => clearInterval(timer);
}

/** A loop whose agent works for long is no dead one: its task folder says so every minute. */
function showAlive({ files, turn }: Runner): void {
  const at = turn.context.now();
  mirrorOf(files, at, turn.loaded.stored?.contract).status(at);
}

/** A task folder can be told by a file in it. */
function heedFlags({ files, turn, options }: Runner): void {
  const contract = turn.loaded.stored?.contract;
  if (!contract?.task) return;
  const { stop, cancel } = takeFlags(runFiles(taskFolder(files.projectDir, contract.taskPath)));
  const at = turn.context.now();
  if (readState(files.state).kind !== 'loop') return;
  if (cancel) operate(files, options.env, at, () => ({ kind: 'cancel', flag: true }));
  else if (stop) operate(files, options.env, at, () => ({ kind: 'stop', clientAlive: true, flag: true }));
}

/** A loop that somebody has ended needs no agent any more; one that is steered tells it. */
export function lookAround(runner: Runner): void {
  const { files, loopId, agent } = runner;
  const current = readState(files.state);
  if (current.kind === 'loop' && current.state.loopId === loopId) {
    steerAgent(runner, current.state);
    showState(runner, current.state);
    return;
  }
  if (agent === null) return;
  // Whoever ends a loop drops its contract; where that stands, the agent has rewritten the state, which is mended later.
  const contract = findContract(files);
  const stands = typeof contract !== 'string' && contract.contract.loopId === loopId;
  if (!stands) agent.end('interrupt');
}

/** What of the loop has changed for whoever watches: what the user has said and asked for, and the checklist. */
function showState(runner: Runner, state: LoopState): void {
  const { shown, options, agent, files } = runner;
  const { status, steering, stopRequested, taskPath } = state;
  const texts = steering.map(({ id, text, delivery }) => ({ id, text, delivery }));
  const pending = texts.map(({ id }) => id).join(' ');
  if (pending !== shown.pending) options.tell({ type: 'pending', texts });
  shown.pending = pending;
  const pauses = agent !== null && status === 'paused';
  const next = pauses ? 'pause' : stopRequested ? 'stop' : 'go-on';
  if (next !== shown.next) options.tell({ type: 'after-iteration', next });
  shown.next = next;
  // As the agent has it by now: it checks items in the middle of an iteration.
  tellChecklist(runner, checklistNow(files.projectDir, taskPath));
}
