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

/** One line of the iterations journal: what an iteration did and what was decided after it. */
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
  agent: agentRecord.optional(),
});

/** One line of the events journal. `type` is stable; the other keys belong to the type. */
export const loopEvent = z.looseObject({
  type: z.string(),
  at: instant,
  loopId: z.string(),
  iteration: count,
  status: terminalStatus.optional(),
  message: z.string().optional(),
});

/** One line of the calls journal, written by the tool hooks. */
export const callRecord = z.strictObject({
  at: instant,
  loopId: z.string(),
  tool: z.string(),
  callId: z.string(),
  phase: z.enum(['asked', 'denied', 'done', 'failed']),
  rule: z.string().optional(),
  agentId: z.string().optional(),
  /** What the guard could not decide and let through. */
  undecided: z.array(z.string()).optional(),
});

export type AgentRecord = z.infer<typeof agentRecord>;
export type IterationRecord = z.infer<typeof iterationRecord>;
export type LoopEvent = z.infer<typeof loopEvent>;
export type CallRecord = z.infer<typeof callRecord>;
