import type { LoopState } from '../../core/schema/state.ts';
import { transition } from '../../core/transition.ts';
import { log } from '../../state/log.ts';
import { readState } from '../../state/read-state.ts';
import { withState } from '../../state/with-state.ts';
import { carryOut } from '../carry-out.ts';
import { LOCK_WAIT } from '../lock-wait.ts';
import type { Runner } from './runner.ts';

/**
 * Sends the agent at work what the user has said since, in order and each once. It stays in the state until the agent
 * has heard it: one that ends before leaves it to the next.
 */
export function steerAgent(runner: Runner, state: LoopState): void {
  const { agent, sent } = runner;
  if (agent === null) return;
  for (const { id, text, delivery } of state.steering) {
    if (delivery !== 'now' || sent.has(id)) continue;
    sent.set(id, 'sent');
    if (agent.send(`The user says, to be followed from now on:\n${text}`, id)) continue;
    sent.delete(id);
    return;
  }
  if (state.steering.some(({ id }) => sent.get(id) === 'heard')) takeHeard(runner);
}

/** The agent has heard a message. Where that cannot be written down now, it is at the next look. */
export function heard(runner: Runner, id: string): void {
  const { sent, files, turn } = runner;
  if (!sent.has(id)) return;
  sent.set(id, 'heard');
  try {
    if (readState(files.state).kind === 'loop') takeHeard(runner);
  } catch (error) {
    log(files, turn.context.now(), 'runner', (error as Error).message);
  }
}

function takeHeard({ files, turn, loopId, options, sent }: Runner): void {
  const at = turn.context.now();
  const { effects, texts } = withState(files, { ...LOCK_WAIT, ...(turn.lease && { lease: turn.lease }) }, (current) => {
    const none = { next: 'keep' as const, result: { effects: [], texts: [] } };
    if (current.kind !== 'loop' || current.state.loopId !== loopId) return none;
    const arrived = current.state.steering.filter(({ id }) => sent.get(id) === 'heard');
    const ids = arrived.map(({ id }) => id);
    const next = transition(current.state, { type: 'steering-delivered', at, ids }, turn.loaded.policy);
    return { next: next.state, result: { effects: next.effects, texts: arrived.map(({ text }) => text) } };
  });
  carryOut(files, at, effects);
  if (texts.length > 0) options.tell({ type: 'steered', texts });
}
