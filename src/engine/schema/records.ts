import * as z from 'zod';
import { count, instant } from './scalars.ts';
import { terminalStatus } from './state.ts';

/** What an iteration's agents were and used, all together, where a driver has heard them itself. null is unknown. */
export const agentRecord = z.strictObject({
  model: z.string().nullable(),
  turns: count.nullable(),
  durationMs: z.number().min(0),
  /** US dollars, subagents and runs that broke included; so for tokens. */
  costUsd: z.number().min(0).nullable(),
  usage: z
    .strictObject({ inputTokens: count, outputTokens: count, cacheReadTokens: count, cacheWriteTokens: count })
    .nullable(),
});

/** What an iteration did and what was decided after it: the event `iteration.ended`. */
export const iterationRecord = z.strictObject({
  loopId: z.string(),
  iteration: count,
  idleIterations: count,
  kind: z.enum(['working', 'idle']),
  startedAt: instant,
  endedAt: instant,
  durationMs: z.number().min(0),
  findings: count.nullable(),
  states: z.array(z.string()),
  claimed: z.boolean(),
  toolCalls: count,
  deniedCalls: count,
  outputTokens: count.nullable(),
  decision: z.string(),
  /** How often in a row each signal of the circuit breaker has been seen; absent in records of former versions. */
  breaker: z
    .strictObject({
      ...{ findings: count, noProgress: count, sameReply: count, sameError: count, denials: count, tdd: count },
    })
    .optional(),
  agent: agentRecord.optional(),
});

/** A decision in the event stream. `type` is stable; the other keys belong to the type. */
export const loopEvent = z.looseObject({
  type: z.string(),
  at: instant,
  loopId: z.string(),
  iteration: count,
  status: terminalStatus.optional(),
  message: z.string().optional(),
});

/** Something that a loop's end report, status, explain and archive name, such as an accepted change. `text` is one line. */
export const loopNotice = z.strictObject({
  at: instant,
  loopId: z.string(),
  iteration: count,
  kind: z.enum(['accept', 'consent', 'restore', 'change']),
  text: z.string(),
  /** The same key is recorded once in a loop. */
  key: z.string().optional(),
  /** Further facts for the journal, such as a whole diff. */
  details: z.record(z.string(), z.unknown()).optional(),
});

export type LoopNotice = z.infer<typeof loopNotice>;
export type AgentRecord = z.infer<typeof agentRecord>;
export type IterationRecord = z.infer<typeof iterationRecord>;
export type LoopEvent = z.infer<typeof loopEvent>;
