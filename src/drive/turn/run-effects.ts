import type { Effect } from '../../engine/effects.ts';
import type { WaitReason } from '../../engine/runner-event.ts';
import { noteRecord, showIteration } from '../records/iteration-record.ts';
import { applyEffects } from './apply-effects.ts';
import type { Driver, Next } from './driver.ts';
import { makePrompt } from './make-prompt.ts';
import { isStep, type Step, type Turn } from './turn.ts';
import { look, verify } from './verify.ts';

/** Runs effects, and those that follow from them, until the driver has an answer. The only switch over steps. */
export async function runEffects<Answer>(
  begun: Turn,
  driver: Driver<Answer>,
  decided: readonly Effect[],
): Promise<Answer> {
  let next: Next<Answer> = { turn: begun, effects: decided };
  while (!('answer' in next)) {
    const { turn, step } = applyAndNote(next.turn, next.effects);
    for (const effect of next.effects) if (effect.type === 'notify') driver.notify(turn, effect.message);
    if (driver.leave && turn.signal.aborted) return driver.leave(turn);
    next = await runStep(turn, driver, step);
  }
  return next.answer;
}

async function runStep<Answer>(turn: Turn, driver: Driver<Answer>, step: Step | undefined): Promise<Next<Answer>> {
  switch (step?.type) {
    case 'prompt': {
      const made = await makePrompt(turn, step, driver);
      return 'effects' in made ? made : driver.deliver(made.turn, made.prompt);
    }
    case 'wait':
      driver.tell({ type: 'waiting', why: waitReason(turn), until: step.until });
      return driver.wait({ ...turn, task: turn.task && { ...turn.task, waited: true } }, step.until);
    case 'look':
      return look(turn);
    case 'verify':
      driver.tell({ type: 'verifying' });
      return verify(turn);
    case 'allow':
    case 'ignore':
    case undefined:
      return driver.release(turn, step);
    default:
      return step satisfies never;
  }
}

function waitReason({ loaded: { state } }: Turn): WaitReason {
  return (state.status === 'waiting' && state.waiting.why) || 'idle';
}

function applyAndNote(
  turn: Turn,
  effects: readonly Effect[],
): { readonly turn: Turn; readonly step: Step | undefined } {
  const { files, now } = turn.context;
  applyEffects(files, now(), effects);
  const step = effects.find(isStep);
  if (turn.task === null) return { turn, step };
  const noted = noteRecord(turn.task, effects);
  // A claim belongs to its iteration, which is shown once the gate has decided.
  const task = step?.type === 'verify' ? noted : showIteration(files, noted, turn.loaded.state, now());
  return { turn: { ...turn, task }, step };
}
