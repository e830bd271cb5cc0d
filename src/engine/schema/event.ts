import * as z from 'zod';
import { EVENT_VERSION } from './constants.ts';
import { iterationRecord, loopEvent } from './records.ts';
import { count, instant } from './scalars.ts';
import { steering } from './state.ts';

const called = {
  ...{ callId: z.string(), tool: z.string(), about: z.string().optional() },
  agentId: z.string().optional(),
};
const heard = { id: z.string(), tool: z.string(), about: z.string(), nested: z.boolean() };

/** Activity of agent, client and checks by its type, without what the stream adds to each event. */
const ACTIVITIES = {
  'iteration.started': {
    begins: count,
    maxIterations: count,
    /** Task of a plan that the agent works on; absent for every other loop. */
    task: z.string().optional(),
  },
  /** Record of an iteration, with the decision after it. */
  'iteration.ended': iterationRecord.omit({ loopId: true, iteration: true }).shape,
  /** The agent's words, whole. `streamed`: they were told before, piece by piece. */
  'agent.text': { text: z.string(), streamed: z.literal(true).optional() },
  /** What the run in progress has used so far; `window` is what its context can hold, null where that is not known. */
  'agent.usage': { tokens: count, context: count, window: count.nullable() },
  'agent.ended': {
    /** What the run was: `ok`, or what kept it from being. */
    outcome: z.string(),
    message: z.string(),
    durationMs: z.number().min(0),
    /** null, as all that follows, where the agent does not tell. */
    turns: count.nullable(),
    toolCalls: count.nullable(),
    model: z.string().nullable(),
    costUsd: z.number().min(0).nullable(),
    usage: iterationRecord.shape.agent.unwrap().shape.usage,
    /** End of the account's pause, after it has used its share of the limit. */
    heldUntil: instant.optional(),
  },
  /** Written by the tool hooks: asked, then done or failed; or denied by the loop's rules. */
  'tool.asked': { ...called, undecided: z.array(z.string()).optional() },
  'tool.denied': { ...called, rule: z.string(), reason: z.string().optional() },
  /** `background`: the call has returned and is still running. */
  'tool.done': { ...called, background: z.literal(true).optional() },
  'tool.failed': called,
  /** Written by a runner that follows its agent: the same calls with durations, and calls denied by the client. */
  'tool.started': heard,
  'tool.ended': {
    ...heard,
    outcome: z.enum(['ok', 'failed', 'denied']),
    durationMs: z.number().min(0),
    /** Only of a denied call: why, and the option of the client that would allow it, if one does. */
    reason: z.string().optional(),
    allow: z.string().optional(),
  },
  'command.started': { name: z.string() },
  'command.ran': { name: z.string(), outcome: z.string(), durationMs: z.number().min(0) },
  'verification.started': {},
  'check.started': { name: z.string() },
  /** `tail`: end of the output, with the reason; at most 4 KiB. */
  'check.ran': {
    name: z.string(),
    run: z.string().nullable(),
    outcome: z.enum(['ok', 'failed', 'timeout', 'vacuous', 'changed', 'unavailable']),
    tail: z.string(),
  },
  'agent.checklist': { done: count, total: count },
  'agent.notice': { message: z.string() },
  'agent.interrupting': {},
  /** A stop or pause at the end of the iteration was requested or withdrawn. */
  'agent.after-iteration': { next: z.enum(['stop', 'pause', 'go-on']) },
  /** What the user said and no agent has heard yet, oldest first; what was handed to one. */
  'steering.pending': { texts: z.array(steering.pick({ id: true, text: true, delivery: true })) },
  'steering.sent': { texts: z.array(z.string()) },
  'run.ended': { status: z.string(), message: z.string(), code: z.int() },
  'wait.started': { why: z.enum(['idle', 'pace', 'rate-limit', 'retry']), until: instant },
};

type Shapes = typeof ACTIVITIES;

/** An activity of this type as it is told. */
export type Activity<T extends keyof Shapes> = {
  [K in T]: { readonly type: K } & (keyof Shapes[K] extends never
    ? unknown
    : Readonly<z.infer<z.ZodObject<Shapes[K]>>>);
}[T];

const stamped = { v: z.literal(EVENT_VERSION), at: instant, loopId: z.string(), iteration: count };
const kinds = Object.entries(ACTIVITIES).map(([type, shape]) =>
  z.looseObject({ type: z.literal(type), ...stamped, ...shape }),
);

/** What agent, client and checks did; what the engine decides stands in the stream between them. */
const activityEvent = z.discriminatedUnion('type', kinds as [(typeof kinds)[number]]);

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
