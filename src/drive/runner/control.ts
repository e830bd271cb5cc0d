import { transition } from '../../core/transition.ts';
import { findContract } from '../../state/contract-store.ts';
import { BEAT_MS } from '../../state/heartbeat.ts';
import { log } from '../../state/log.ts';
import { readState } from '../../state/read-state.ts';
import { runFiles } from '../../state/run-files.ts';
import { takeFlags } from '../../state/run-flags.ts';
import { withState } from '../../state/with-state.ts';
import { taskFolder } from '../../task/task-folder.ts';
import { carryOut } from '../carry-out.ts';
import { LOCK_WAIT } from '../lock-wait.ts';
import { operate } from '../operate.ts';
import { mirrorOf } from '../task/mirror.ts';
import type { Runner } from './runner.ts';

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
      if (runner.agent !== null) heedState(runner);
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
function heedState(runner: Runner): void {
  const { files, loopId, agent } = runner;
  const current = readState(files.state);
  const ours = current.kind === 'loop' && current.state.loopId === loopId;
  if (ours && current.state.steering.some(({ delivery }) => delivery === 'now')) steer(runner);
  if (ours || agent === null) return;
  // Whoever ends a loop drops its contract; where that stands, the agent has rewritten the state, which is mended later.
  const contract = findContract(files);
  const stands = typeof contract !== 'string' && contract.contract.loopId === loopId;
  if (!stands) agent.end('interrupt');
}

/** Taken out of the state before it is told: delivered once. An agent that hears no more gets it with its next prompt. */
function steer({ files, turn, agent, loopId, options }: Runner): void {
  const at = turn.context.now();
  const { policy } = turn.loaded;
  const taken = withState(files, { ...LOCK_WAIT, ...(turn.lease && { lease: turn.lease }) }, (current) => {
    const none = { next: 'keep' as const, result: [] };
    if (current.kind !== 'loop' || current.state.loopId !== loopId) return none;
    const due = current.state.steering.filter(({ delivery }) => delivery === 'now');
    const told = due.filter(({ text }) => agent?.send(`The user says, to be followed from now on:\n${text}`) === true);
    if (told.length === 0) return none;
    const ids = told.map(({ id }) => id);
    const next = transition(current.state, { type: 'steering-delivered', at, ids }, policy);
    return { next: next.state, result: next.effects };
  });
  carryOut(files, at, taken);
  if (taken.length > 0) options.tell({ type: 'notice', message: 'the agent was told what you said.' });
}
