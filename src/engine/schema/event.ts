import * as z from 'zod';
import { EVENT_VERSION } from './constants.ts';
import { iterationRecord, loopEvent } from './records.ts';
import { count, instant } from './scalars.ts';

const stamped = { v: z.literal(EVENT_VERSION), at: instant, loopId: z.string(), iteration: count };
const call = { callId: z.string(), tool: z.string(), about: z.string().optional() };
const usage = iterationRecord.shape.agent.unwrap().shape.usage;

function kind<T extends string, S extends z.ZodRawShape>(type: T, shape: S) {
  return z.looseObject({ type: z.literal(type), ...stamped, ...shape });
}

/** Activity of agent, client and checks; the engine's decisions are in the same stream. */
export const activityEvent = z.discriminatedUnion('type', [
  kind('iteration.started', { begins: count, maxIterations: count }),
  /** Record of an iteration, with the decision after it. */
  kind('iteration.ended', iterationRecord.omit({ loopId: true, iteration: true }).shape),
  kind('agent.text', { text: z.string() }),
  kind('agent.usage', { tokens: count, context: count, window: count.nullable() }),
  kind('agent.ended', {
    outcome: z.string(),
    message: z.string(),
    durationMs: z.number().min(0),
    turns: count.nullable(),
    toolCalls: count.nullable(),
    model: z.string().nullable(),
    costUsd: z.number().min(0).nullable(),
    usage,
    /** End of the account's pause, after it has used its share of the limit. */
    heldUntil: instant.optional(),
  }),
  /** Written by the tool hooks: asked, then done or failed; or denied by the loop's rules. */
  kind('tool.asked', { ...call, agentId: z.string().optional(), undecided: z.array(z.string()).optional() }),
  kind('tool.denied', { ...call, agentId: z.string().optional(), rule: z.string(), reason: z.string().optional() }),
  /** `background`: the call has returned and is still running. */
  kind('tool.done', { ...call, agentId: z.string().optional(), background: z.literal(true).optional() }),
  kind('tool.failed', { ...call, agentId: z.string().optional() }),
  /** Written by a runner that follows its agent: the same calls with durations, and calls denied by the client. */
  kind('tool.started', { id: z.string(), tool: z.string(), about: z.string(), nested: z.boolean() }),
  kind('tool.ended', {
    id: z.string(),
    tool: z.string(),
    about: z.string(),
    nested: z.boolean(),
    outcome: z.enum(['ok', 'failed', 'denied']),
    durationMs: z.number().min(0),
    reason: z.string().optional(),
  }),
  kind('command.started', { name: z.string() }),
  kind('command.ran', { name: z.string(), outcome: z.string(), durationMs: z.number().min(0) }),
  kind('verification.started', {}),
  kind('check.started', { name: z.string() }),
  /** `tail`: end of the output, with the reason; at most 4 KiB. */
  kind('check.ran', {
    name: z.string(),
    run: z.string().nullable(),
    outcome: z.enum(['ok', 'failed', 'timeout', 'vacuous', 'changed', 'unavailable']),
    tail: z.string(),
  }),
  kind('agent.checklist', { done: count, total: count }),
  kind('agent.notice', { message: z.string() }),
  kind('agent.interrupting', {}),
  kind('agent.after-iteration', { next: z.enum(['stop', 'pause', 'go-on']) }),
  /** Messages of the user that no agent has received yet, and those passed to one. */
  kind('steering.pending', { texts: z.array(z.looseObject({ id: z.string(), text: z.string() })) }),
  kind('steering.sent', { texts: z.array(z.string()) }),
  kind('run.ended', { status: z.string(), message: z.string(), code: z.int() }),
  kind('wait.started', { why: z.enum(['idle', 'pace', 'rate-limit', 'retry']), until: instant }),
]);

/** Decision of the engine; further keys depend on its type. */
const decisionEvent = loopEvent.extend({
  type: z
    .string()
    .regex(
      /^(?!(?:agent|tool|command|verification|check|wait|run)\.|steering\.(?!delivered$)|iteration\.(?:started|ended)$)/,
    ),
});

/** One line of the event stream. */
export const streamEvent = z.union([activityEvent, decisionEvent]);
