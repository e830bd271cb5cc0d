import { randomUUID } from 'node:crypto';
import { steering } from '../../engine/events.ts';
import { readLoop } from '../../state/loop-files.ts';
import { recordNotice } from '../../state/record-notice.ts';
import { RalphError } from '../../text/message.ts';
import { takeAllowRequest } from '../control/allow-request.ts';
import { operate } from '../control/operate.ts';
import { RUNNER_TEXTS } from './messages.ts';
import { now, type Runner } from './runner.ts';

/**
 * Allows what the agent was denied in this call, from now on, and tells it so. Only the rule that the runner itself offered for
 * the call is added; it is held in this process, where the agent's programs do not reach it. Guardrails still deny. Every
 * report names it, and is written first. Throws RalphError `refused` for a call that was not offered.
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
  options.tell({ type: 'agent.notice', message: text });
  const told = steering(randomUUID(), RUNNER_TEXTS.nowAllowed(rule), 'now');
  operate(files, options.env, now(), () => told);
}

/** Answers the request of another terminal's user. */
export function answerAllowRequest(runner: Runner): void {
  const asked = takeAllowRequest(runner.files, runner.agent?.pid ?? null);
  if (asked === null) return;
  try {
    if ('refused' in asked) throw new RalphError('refused', RUNNER_TEXTS.notAsked(asked.refused));
    allowCall(runner, asked.call, `attach at ${asked.terminal}`);
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    runner.options.tell({ type: 'agent.notice', message: error.message });
  }
}
