import * as z from 'zod';
import type { EndReport } from './end-report.ts';
import type { UsageDelta } from './events.ts';
import { EVENT_VERSION } from './schema/constants.ts';
import { testSummary } from './schema/proof.ts';
import { iterationRecord, loopEvent } from './schema/records.ts';
import { count, instant } from './schema/scalars.ts';
import { type CommonState, checkOutcome, type PauseReason, steering, type TerminalStatus } from './schema/state.ts';

export type WaitReason = Activity<'wait.started'>['why'];

/** Events that a driver emits, in order, by their names in the event stream. `--json` prints each unchanged. */
export type RunnerEvent =
  /** Includes the loop's current figures: a resumed loop has finished iterations. */
  | (Readonly<Pick<CommonState, 'loopId' | 'name' | 'taskPath' | 'iteration' | 'maxIterations' | 'startedAt'>> & {
      readonly type: 'run.started';
      /** Time for which the loop was stopped since its start; absent: none. */
      readonly stoppedMs?: number;
      readonly costUsd: number | null;
      readonly usage: UsageDelta;
    })
  /** The agent's text as it arrives; emitted only for the live view. */
  | { readonly type: 'agent.text-delta'; readonly text: string }
  | Activity<
      | ('iteration.started' | 'command.started' | 'command.ran' | 'tool.started' | 'tool.ended' | 'wait.started')
      | ('agent.text' | 'agent.usage' | 'agent.checklist' | 'agent.notice' | 'agent.interrupting')
      | ('agent.after-iteration' | 'steering.pending' | 'steering.sent' | 'verification.started')
    >
  | (Activity<'agent.ended'> & { readonly iteration: number })
  | { readonly type: 'loop.paused'; readonly reason: PauseReason }
  | (Omit<Activity<'run.ended'>, 'status'> & {
      readonly status: TerminalStatus | 'paused';
      /** The message without its advice, if it differs. */
      readonly text?: string;
      readonly iterations: number | null;
      readonly costUsd: number | null;
      readonly report?: EndReport;
    });

export type RunnerEventOf<T extends RunnerEvent['type']> = Extract<RunnerEvent, { type: T }>;

export type Tell = (event: RunnerEvent) => void;

const called = { callId: z.string(), tool: z.string(), about: z.string().optional(), agentId: z.string().optional() };
const heard = { id: z.string(), tool: z.string(), about: z.string(), nested: z.boolean() };

/** Activity of agent, client and checks by type, without the fields that the stream adds to each event. */
const ACTIVITIES = {
  'iteration.started': {
    begins: count,
    maxIterations: count,
    /** Task of a plan that the agent works on; absent for other loops. */
    task: z.string().optional(),
    /** What the loop had used before: the starting point of a view that joins later. */
    spent: z.object({ tokens: count, costUsd: z.number().min(0).nullable(), isCostPartial: z.boolean() }).optional(),
  },
  'iteration.ended': iterationRecord.omit({ loopId: true, iteration: true }).shape,
  /** A complete text of the agent. `streamed`: it was already emitted in parts. */
  'agent.text': { text: z.string(), streamed: z.literal(true).optional() },
  /** Usage of the run in progress; `window` is the size of its context, null if unknown. */
  'agent.usage': { tokens: count, context: count, window: count.nullable() },
  'agent.ended': {
    /** `ok`, or what went wrong in the run. */
    outcome: z.string(),
    message: z.string(),
    durationMs: z.number().min(0),
    /** This field and the following ones are null if the agent does not report them. */
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
    /** For a denied call: the reason and, if a rule would allow the call, that rule and the client's option with it. */
    reason: z.string().optional(),
    rule: z.string().optional(),
    allow: z.string().optional(),
  },
  'command.started': { name: z.string() },
  'command.ran': {
    name: z.string(),
    outcome: z.string(),
    durationMs: z.number().min(0),
    /** How it ended, or why it was not run; absent if it succeeded. */
    why: z.string().optional(),
  },
  'verification.started': {
    /** A limit is reached, and the agent has not claimed completion. */
    unclaimed: z.boolean().optional(),
  },
  'check.started': { name: z.string() },
  /** `tail`: the reason in the first line, then the end of the output; at most 4 KiB. */
  'check.ran': {
    name: z.string(),
    run: z.string().nullable(),
    outcome: checkOutcome,
    tail: z.string(),
    /** Absent if the output shows no test run. */
    tests: testSummary.optional(),
  },
  'agent.checklist': { done: count, total: count },
  /** `allowed`: the rule by which the user has allowed calls that were denied. */
  'agent.notice': { message: z.string(), allowed: z.string().optional() },
  'agent.interrupting': {},
  /** A stop or pause at the end of the iteration was requested or withdrawn. */
  'agent.after-iteration': { next: z.enum(['stop', 'pause', 'go-on']) },
  /** Messages of the user that no agent has received yet, oldest first, and those passed to one. */
  'steering.pending': { texts: z.array(steering.pick({ id: true, text: true, delivery: true })) },
  'steering.sent': { texts: z.array(z.string()) },
  'run.ended': { status: z.string(), message: z.string(), code: z.int() },
  'wait.started': { why: z.enum(['idle', 'pace', 'rate-limit', 'retry']), until: instant },
};

type Shapes = typeof ACTIVITIES;

type Activity<T extends keyof Shapes> = {
  [K in T]: { readonly type: K } & (keyof Shapes[K] extends never
    ? unknown
    : Readonly<z.infer<z.ZodObject<Shapes[K]>>>);
}[T];

const stamped = { v: z.literal(EVENT_VERSION), at: instant, loopId: z.string(), iteration: count };
const kinds = Object.entries(ACTIVITIES).map(([type, shape]) =>
  z.looseObject({ type: z.literal(type), ...stamped, ...shape }),
);

/** Activity of agent, client and checks; the engine's decisions are in the same stream. */
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
