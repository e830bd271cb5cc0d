import { randomUUID } from 'node:crypto';
import { steering } from '../../engine/events.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { type Fields, textOf } from '../../hosts/fields.ts';
import { readStream, recordNotice } from '../../state/event-stream.ts';
import { lossBy, requireEvidence } from '../../state/evidence/evidence.ts';
import { findLiveContract, orLogged, readCounters, readLoop } from '../../state/loop-files.ts';
import { BEAT_MS } from '../../state/task-folder/run-files.ts';
import { endedState } from '../../state/with-state.ts';
import { ifRefused, RalphError } from '../../text/message.ts';
import { takeAllowRequest } from '../control/allow-request.ts';
import { applyFlagFiles, operate } from '../control/operate.ts';
import { restoreMidTurn } from '../control/restore-protected.ts';
import { checklistNow } from '../prompt/read-task.ts';
import { applyEffects } from '../records/apply-effects.ts';
import { projectionOf } from '../records/status-projection.ts';
import { leaveOutSleep } from '../turn/abort-if-superseded.ts';
import { dispatch, withTurnState } from '../turn/turn.ts';
import { RUNNER_TEXTS } from './messages.ts';
import { now, type Runner, tellChecklist } from './runner.ts';

const POLL_MS = 330;

/** Watches for changes by other processes while the runner is busy. Returns a function that stops watching. */
export function watchOperator(runner: Runner): () => void {
  const { files, begun, options, loopId } = runner;
  const contract = begun.loaded.stored?.contract;
  const isOurs = (state: LoopState): boolean => state.loopId === loopId;
  let shown = Date.now();
  const endWatch = leaveOutSleep(begun, (message) => options.tell({ type: 'agent.notice', message }));
  const timer = setInterval(() => {
    // The disk may work at the next poll; if not, the end of the iteration reports the error.
    orLogged(files, now(), 'runner', () => {
      if (Date.now() - shown >= BEAT_MS) {
        shown = Date.now();
        projectionOf(files, now()).status(now());
      }
      if (contract) applyFlagFiles(files, options.env, now(), contract, { isOurs, restore: restoreMidTurn });
      putBackCounters(runner);
      answerAllowRequest(runner);
      pollForChanges(runner);
    });
  }, POLL_MS);
  return () => {
    clearInterval(timer);
    endWatch();
  };
}

/** Writes the counters again if another program has removed or damaged them: this process remembers them. */
function putBackCounters({ files, begun }: Runner): void {
  const known = begun.lease?.known;
  if (known === undefined || readCounters(files)?.loopId === known.counters.loopId) return;
  withTurnState(begun, () => ({ next: 'keep', result: undefined }));
}

/** Reacts to the state on disk: ends the agent of an ended loop, and delivers steering. */
export function pollForChanges(runner: Runner): void {
  const { files, loopId, agent } = runner;
  tellDelivered(runner);
  const state = readLoop(files, loopId);
  if (state !== null) {
    if (state.status !== 'ended') tellLoss(runner);
    steerAgent(runner, state);
    showState(runner, state);
    return;
  }
  if (agent === null) return;
  // If the loop has ended, its contract is gone and its state archived. Otherwise the agent has rewritten its files: the
  // state is restored later.
  if (findLiveContract(files, loopId) === null && endedState(files, loopId) !== null) agent.end('interrupt');
  else tellLoss(runner);
}

/** Reports lost evidence to the user once. Hooks deny the agent's calls, and the end of its turn pauses the loop. */
function tellLoss({ files, begun, shown, options }: Runner): void {
  const contract = begun.loaded.stored?.contract;
  if (contract === undefined || shown.lost !== '') return;
  const lost = lossBy(() => requireEvidence(files, contract));
  if (lost === null) return;
  shown.lost = lost.text;
  options.tell({ type: 'agent.notice', message: RUNNER_TEXTS.onlyReads(shown.lost) });
}

/** Reports changes to the user's terminal: pending messages, a requested stop or pause, and the checklist. */
function showState(runner: Runner, state: LoopState): void {
  const { shown, options, agent, files, sent } = runner;
  const { status, steering, stopRequested, taskPath } = state;
  const pending = steering.filter(({ id }) => sent.get(id) !== 'acknowledged');
  const texts = pending.map(({ id, text, delivery }) => ({ id, text, delivery }));
  showPending(runner, texts);
  const pauses = agent !== null && status === 'paused';
  const next = pauses ? 'pause' : stopRequested ? 'stop' : 'go-on';
  if (next !== shown.next) options.tell({ type: 'agent.after-iteration', next });
  shown.next = next;
  // The agent ticks items in the middle of an iteration.
  tellChecklist(runner, checklistNow(files.projectDir, taskPath));
}

/** Tells the user which messages still wait for the agent. */
function showPending({ shown, options }: Runner, texts: Runner['shown']['pending']): void {
  const idsOf = (all: typeof texts): string => all.map(({ id }) => id).join(' ');
  if (idsOf(texts) !== idsOf(shown.pending)) options.tell({ type: 'steering.pending', texts });
  shown.pending = texts;
}

/** Tells the user which messages have reached the working agent, by the journal: a hook may deliver one between two polls. */
function tellDelivered(runner: Runner): void {
  const { files, loopId, journal } = runner;
  const arrived: { id: string; text: string }[] = [];
  const take = ({ type, id, text, ids }: Fields): void => {
    if (type === 'operator.steer') journal.messages.push({ id: textOf(id), text: textOf(text) });
    else if (Array.isArray(ids)) arrived.push(...journal.messages.filter((message) => ids.includes(message.id)));
  };
  const isWanted = (type: string): boolean => type === 'operator.steer' || type === 'steering.delivered';
  journal.next = readStream(files, loopId, journal.next, take, isWanted);
  if (arrived.length > 0) tellArrived(runner, arrived);
}

/** Tells the user that messages have reached the agent. */
export function tellArrived(runner: Runner, arrived: readonly { readonly id: string; readonly text: string }[]): void {
  const left = runner.shown.pending.filter(({ id }) => !arrived.some((each) => each.id === id));
  showPending(runner, left);
  runner.options.tell({ type: 'steering.sent', texts: arrived.map(({ text }) => text) });
}

/** Sends the agent its steering in order, each message once. A message stays in the state until it is acknowledged. */
function steerAgent(runner: Runner, state: LoopState): void {
  const { agent, sent } = runner;
  if (agent === null) return;
  // A message may be acknowledged while it is being sent: this state is older than that record.
  if (state.steering.some(({ id }) => sent.get(id) === 'acknowledged')) takeAcknowledged(runner, state);
  for (const { id, text, delivery } of state.steering) {
    if (delivery !== 'now' || sent.has(id)) continue;
    sent.set(id, 'sent');
    if (agent.send(`The user says, to be followed from now on:\n${text}`, id)) continue;
    sent.delete(id);
    return;
  }
}

/** Records that a message has reached the agent. If it cannot be written now, the next poll tries again. */
export function acknowledge(runner: Runner, id: string): void {
  const { sent, files } = runner;
  if (!sent.has(id)) return;
  sent.set(id, 'acknowledged');
  orLogged(files, now(), 'runner', () => {
    const state = readLoop(files, runner.loopId);
    if (state !== null) takeAcknowledged(runner, state);
  });
}

function takeAcknowledged(runner: Runner, { steering }: LoopState): void {
  const { files, begun, sent } = runner;
  const at = now();
  const ids = steering.map(({ id }) => id).filter((id) => sent.get(id) === 'acknowledged');
  if (ids.length === 0) return;
  applyEffects(files, at, dispatch(begun, { type: 'steering-delivered', at, ids }).effects);
  tellDelivered(runner);
}

/**
 * Allows, from now on, what the agent was denied in this call, and tells the agent. Adds only the rule that the runner itself
 * offered for the call, held in this process, out of reach of the agent's programs. Guardrails still deny. The notice for every
 * report is written first. Throws RalphError `refused` for a call that was not offered.
 */
export function allowCall(runner: Runner, call: string, from: string): void {
  const { files, loopId, options, offers, allowed, begun } = runner;
  const rule = offers.get(call);
  if (rule === undefined) throw new RalphError('refused', RUNNER_TEXTS.notOffered);
  const { iteration } = readLoop(files, loopId) ?? begun.loaded.state;
  const text = RUNNER_TEXTS.allowed(rule);
  recordNotice(files, { loopId, iteration }, { at: now(), kind: 'allow', text, details: { rule, from } });
  allowed.add(rule);
  runner.agent?.allow([...allowed]);
  options.tell({ type: 'agent.notice', message: text, allowed: rule });
  const told = steering(randomUUID(), RUNNER_TEXTS.nowAllowed(rule), 'now');
  operate(files, options.env, now(), () => told);
}

function answerAllowRequest(runner: Runner): void {
  const asked = takeAllowRequest(runner.files, runner.agent?.pid ?? null);
  if (asked === null) return;
  const answer = (): void => {
    if ('refused' in asked) throw new RalphError('refused', RUNNER_TEXTS.notAsked(asked.refused));
    allowCall(runner, asked.call, `attach at ${asked.terminal}`);
  };
  ifRefused(answer, ({ message }) => runner.options.tell({ type: 'agent.notice', message }));
}
