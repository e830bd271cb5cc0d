import * as z from 'zod';
import { SCHEMA_VERSION } from './constants.ts';
import { planState } from './plan.ts';
import { proof, testCounts } from './proof.ts';
import { count, instant } from './scalars.ts';

export const checkOutcome = z.enum(['ok', 'failed', 'timeout', 'vacuous', 'changed', 'unavailable']);

const streak = z.object({ value: z.string().nullable(), repeats: count });

/** Consecutive repeats of each signal; `value` is that of the previous iteration. */
const breakerState = z.object({
  /** The agent reported as many findings as before. */
  findings: streak,
  /** The agent's last message was the same, apart from signals, spaces and case. */
  sameReply: streak,
  /** A claim was refused with the same results while nothing in the project changed; absent before the first. */
  sameRefusal: streak.optional(),
  /** The agent run failed with the same error, apart from ids and times. */
  sameError: streak,
  /** No durable change was seen in the project. */
  noProgress: count,
  /** Every tool call of the iteration was denied. */
  denials: count,
  /** TDD: the loop is still at the same scenario, and none of its steps was completed. */
  tdd: streak,
});

const idleState = z.object({
  since: instant.nullable(),
  consecutive: count,
  /** Time of the last call of the model, from which `max_quiet` counts. */
  lastCallAt: instant.nullable(),
});

/** Billed usage of the loop so far. `costUsd` is the known part; null while nothing is known. */
const usageState = z.object({
  inputTokens: count,
  outputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
  costUsd: z.number().min(0).nullable(),
  /** Client's cost figure minus the loop's cost, negative after earlier sessions; null before the first figure. */
  costBaseUsd: z.number().nullable(),
  /** Agent runs with tokens whose cost the client has not reported, including one in progress; absent: none. */
  unpricedRuns: count.optional(),
  /** Number of them that the user knew about when resuming the loop: they do not stop it. */
  unpricedAccepted: count.optional(),
});

/** Window of the account's usage limits as last reported by the client; `used` is a share from 0 to 1. */
const usageWindow = z.object({
  name: z.enum(['five_hour', 'seven_day']),
  used: z.number(),
  resetsAt: instant.nullable(),
});

/** Read positions in append-only files of other programs, so that nothing is counted twice. */
const readMarks = z.object({
  transcriptPath: z.string().nullable(),
  transcriptBytes: count,
  subagentBytes: z.record(z.string(), count),
  lastMessageIds: z.array(z.string()),
  callsBytes: count,
});

export const steering = z.object({
  id: z.string(),
  at: instant,
  text: z.string(),
  /** `now`: delivered at the next tool call. `next`: delivered with the next prompt. */
  delivery: z.enum(['now', 'next']),
  /** Present if it announces an accepted change and is not a message by the user; the user is shown it as well. */
  announces: z.literal('accept').optional(),
});

/** Notices for the next prompt, kept until they are delivered. */
export const notices = z.object({
  rejection: z.array(z.string()),
  /** Signal in a place where it does not count. */
  misplacedSignal: z.string().nullable(),
  warnings: z.array(z.string()),
});

const lastDecision = z.object({
  at: instant,
  kind: z.enum(['started', 'prompt', 'wait', 'verify', 'allow']),
  detail: z.string(),
  /** Milliseconds since then for which the machine slept while the loop ran or waited; absent: none. */
  sleptMs: count.optional(),
});

/** Fingerprint of the last counted Stop: the same payload delivered twice counts once. */
const lastTurn = z.object({ promptId: z.string().nullable(), text: z.string(), transcriptMark: z.string() });

const base = {
  iteration: count,
  startedAt: instant,
  /**
   * Milliseconds since then for which the loop was paused or not driven, or its machine slept, less those by which the clock
   * was set back; absent: none.
   */
  stoppedMs: z.int().optional(),
  /** End of the time that was last added to `stoppedMs`. */
  stoppedUntil: instant.optional(),
  /**
   * How long the machine had slept when the state was written, in milliseconds up to a constant; absent where a process
   * watches the loop's whole time.
   */
  asleepMs: z.number().optional(),
  lastRunAt: instant,
  lastFindingsCount: count.nullable(),
  schemaVersion: z.literal(SCHEMA_VERSION),
  loopId: z.string().min(1),
  /** Null for the default loop of the project; a named loop has its own files. */
  name: z.string().nullable(),
  mode: z.enum(['hook', 'router', 'runner']),
  /** Fencing token: the holder of a lease writes with its own epoch, and older epochs are refused. */
  epoch: count,
  taskPath: z.string(),
  contractHash: z.string().nullable(),
  sessionId: z.string().nullable(),
  clientPid: count.nullable(),
  /** Start time of the client as the system reports it, so that a reused process id is not mistaken for it. */
  clientStartedAt: z.string().nullable(),
  maxIterations: z.int().min(1).max(100),
  idleIterations: count,
  breaker: breakerState,
  idle: idleState,
  usage: usageState,
  /** Absent if the client does not report it, and after the user resumed the loop. */
  limits: z.array(usageWindow).optional(),
  marks: readMarks,
  lastDecision: lastDecision.nullable(),
  lastTurn: lastTurn.nullable(),
  /** Content of the last prompt until a turn shows that it arrived. A prompt that the client overrode never arrived. */
  inFlight: z.object({ notices, steering: z.array(steering) }).nullable(),
  /** Origin of the current turn's prompt: none yet, the loop (`agent`), a person; `rest`: the turn was released. */
  turn: z.enum(['first', 'agent', 'user', 'rest']),
  /** The client's id of the prompt that the current turn answers; another prompt with this id was queued, not new. */
  promptId: z.string().nullable(),
  stopRequested: z.boolean(),
  /** The stop was requested by a flag file in the task folder, whose author is unknown. */
  stopFlag: z.boolean().optional(),
  /** The user paused the loop while the agent worked: it pauses once the finished iteration is counted and verified. */
  pauseRequested: z.boolean().optional(),
  steering: z.array(steering),
  notices,
  /** Reasons for the gate's last rejection, and their consecutive repeats. */
  gateFailures: streak,
  warnedBudgets: z.array(z.string()),
  /** Keys of pauses and other notices that the user was already shown. */
  announced: z.array(z.string()),
  /** Fingerprint of the project after the last iteration, if the no-progress signal is on. */
  projectMark: z.string().nullable(),
  /** Program as the user calls it, for commands in messages; absent: `ralph-loop`. */
  program: z.string().min(1).optional(),
  /** True if an iteration has made a durable change; absent if the policy does not track progress. */
  progressed: z.boolean().optional(),
  /** Number of working iterations whose progress is unknown; absent as above. */
  unknownProgress: count.optional(),
  /** Last count of a checklist; absent for other tasks. */
  checklist: z.object({ done: count, total: count }).optional(),
  /** Last iteration whose prompt asked the agent to reflect; absent before the first. */
  lastReflection: count.optional(),
  plan: planState.optional(),
  checks: z
    .array(
      z.object({ name: z.string(), outcome: checkOutcome, why: z.string().optional(), tests: testCounts.optional() }),
    )
    .optional(),
  lastWords: z.array(z.string()).optional(),
  /** Background tasks that reached their maximum wait and are not waited for again. */
  waitedOut: z.array(z.string()),
};

const waiting = {
  since: instant,
  until: instant,
  delayMs: z.number().min(0),
  /** Last wait of a streak, cut to the rest of the maximum idle time. */
  last: z.boolean(),
  woken: z.boolean(),
  /** Fingerprint of the watched files when the agent reported idle; null if nothing is watched. */
  seen: z.string().nullable(),
  /** `pace` is the policy's delay between two working iterations. Absent: the agent reported idle. */
  why: z.literal('pace').optional(),
};

/** Command of this program, with its options. */
export const command = z.object({
  command: z.string(),
  options: z.record(z.string(), z.union([z.string(), z.boolean()])).optional(),
});

/** Failed iteration that ends the loop under its policy, unless completion is proved. */
const failure = z.object({ as: z.enum(['timeout', 'error']), message: z.string(), text: z.string().optional() });

export const terminalStatus = z.enum([
  'complete',
  'stopped',
  'cancelled',
  'max-iterations',
  'no-progress-exhaustion',
  'idle-limit',
  'circuit-open',
  'budget-exhausted',
  'rate-limited',
  'blocked',
  'needs-verification',
  'paused-for-review',
  'timeout',
  'interrupted',
  'error',
]);

export const pauseReason = z.enum([
  'operator',
  'interrupted',
  'rate-limited',
  'api-error',
  'contract-changed',
  'evidence-lost',
]);

export const statusPart = z.discriminatedUnion('status', [
  z.object({ status: z.literal('running') }),
  z.object({ status: z.literal('waiting'), waiting: z.object(waiting) }),
  z.object({
    status: z.literal('verifying'),
    verifying: z.object({
      since: instant,
      failure: failure.optional(),
      /** True if the agent has not claimed completion: a limit is reached, and the checks show how far it came. */
      unclaimed: z.boolean().optional(),
    }),
  }),
  z.object({
    status: z.literal('paused'),
    paused: z.object({
      since: instant,
      reason: pauseReason,
      message: z.string(),
      /** The message without its advice; absent in a state of an earlier version. */
      text: z.string().optional(),
      resumesAt: instant.nullable(),
      /** Sleep of the machine while a driver waits for the end of this pause, as in the fields of the loop. */
      stoppedMs: count.optional(),
      stoppedUntil: instant.optional(),
    }),
  }),
  z.object({ status: z.literal('awaiting-consent') }),
  z.object({
    status: z.literal('ended'),
    ended: z.object({
      at: instant,
      as: terminalStatus,
      message: z.string(),
      /** The message without its advice, if it differs. */
      text: z.string().optional(),
      /** Command of the message that continues the work; absent if the message names none. */
      next: command.optional(),
      /** True if the completion has a proof other than `none`. */
      verified: z.boolean(),
      /** What a completion rests on; absent for other ends. */
      proof: proof.optional(),
    }),
  }),
]);

export const commonPart = z.object(base);

/** Counts that only rise, and the position up to which the transcript's usage was read. Stored outside the project. */
export const counters = commonPart
  .pick({
    loopId: true,
    iteration: true,
    idleIterations: true,
    epoch: true,
    usage: true,
    stoppedMs: true,
    stoppedUntil: true,
    asleepMs: true,
  })
  .extend({
    marks: readMarks.omit({ callsBytes: true }),
    /** Session to which the loop is bound, kept in case the state is lost; absent without one. */
    sessionId: z.string().optional(),
    /** Process of its client; absent without one. */
    clientPid: z.int().optional(),
  });

const loopState = z.intersection(commonPart, statusPart);

/** State file of the original skill: four keys and no contract. */
export const fourKeyState = z.object({
  iteration: count,
  startedAt: instant,
  lastRunAt: instant,
  lastFindingsCount: z.union([count, z.null(), z.literal('unknown')]),
});

export type LoopState = z.infer<typeof loopState>;
export type Counters = Readonly<z.infer<typeof counters>>;
export type FourKeyState = z.infer<typeof fourKeyState>;
export type BreakerState = z.infer<typeof breakerState>;
export type IdleState = z.infer<typeof idleState>;
export type UsageWindow = z.infer<typeof usageWindow>;
export type UsageState = z.infer<typeof usageState>;
export type ReadMarks = z.infer<typeof readMarks>;
export type Notices = z.infer<typeof notices>;
export type Failure = z.infer<typeof failure>;
export type Steering = z.infer<typeof steering>;
export type TerminalStatus = z.infer<typeof terminalStatus>;
export type PauseReason = z.infer<typeof pauseReason>;
export type StateOf<S extends LoopState['status']> = Extract<LoopState, { status: S }>;
export type LiveState = Exclude<LoopState, { status: 'ended' }>;
/** Fields that every state has, whatever its status. */
export type CommonState = Omit<StateOf<'running'>, 'status'>;
