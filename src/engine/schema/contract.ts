import * as z from 'zod';
import { NOTIFY_KINDS } from './constants.ts';
import { baseline } from './proof.ts';
import { count, instant } from './scalars.ts';

const threshold = count;

/** Policy of a loop, resolved once at the start and fixed in the contract. Durations in milliseconds. */
export const policy = z.strictObject({
  /** Text with which the agent claims completion. `none`: the loop runs to its limits. */
  completion: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('signal'), text: z.string().min(1) }),
    z.strictObject({ kind: z.literal('promise'), text: z.string().min(1) }),
    z.strictObject({ kind: z.literal('none') }),
  ]),
  signalMatch: z.enum(['line', 'anywhere']),
  maxIterations: z.int().min(1).max(100),
  reinject: z.enum(['auto', 'reason', 'context', 'pointer']),
  idle: z
    .strictObject({
      delayMs: z.number().positive(),
      backoff: z.number().min(1),
      maxDelayMs: z.number().positive(),
      maxMs: z.number().positive(),
      wake: z.enum(['time', 'change']),
      watch: z.array(z.string()),
      maxQuietMs: z.number().positive().nullable(),
    })
    .nullable(),
  /** Consecutive repeats that trip the breaker; 0 disables the signal. */
  breaker: z.strictObject({
    findings: threshold,
    noProgress: threshold,
    sameReply: threshold,
    sameError: threshold,
    denials: threshold,
    tdd: threshold,
  }),
  budget: z.strictObject({
    maxCostUsd: z.number().positive().nullable(),
    maxTokens: z.number().positive().nullable(),
    maxTimeMs: z.number().positive().nullable(),
    /** Shares of the account's limits at which the loop pauses until they reset; absent: none. */
    stopAt: z
      .strictObject({ five_hour: z.number().min(0).max(1).nullable(), seven_day: z.number().min(0).max(1).nullable() })
      .optional(),
    warnAt: z.number().min(0).max(1),
  }),
  /** Present if the task is a plan, which is executed task by task. */
  plan: z
    .strictObject({
      /** Number of tasks done in one session after which the loop pauses for review. */
      maxTasks: z.int().min(1).max(100),
      from: z.string().min(1).nullable(),
      /** Id of this loop's only task, worked on beside loops on other tasks; absent: all tasks in order. */
      only: z.string().min(1).optional(),
    })
    .optional(),
  backgroundWaitMs: z.number().min(0),
  pace: z.strictObject({
    /** Delay between two working iterations, in addition to idle waits. */
    delayMs: z.number().min(0),
    /** Time limit of one iteration; null if only the loop's own limits apply. */
    iterationTimeoutMs: z.number().positive().nullable(),
    stopOnError: z.boolean(),
    /** True if the end distinguishes max-iterations and no-progress-exhaustion. */
    tracksProgress: z.boolean(),
  }),
});

export type Policy = z.infer<typeof policy>;
export type IdlePolicy = NonNullable<Policy['idle']>;

export const CONTRACT_VERSION = 1;

/** Command that the loop may run, as written in the frontmatter when the user started it. */
const commandDefinition = z.strictObject({
  name: z.string().min(1),
  run: z.string().min(1),
  timeoutSeconds: z.int().min(1).max(3600),
});

/** Command whose output is evidence for an iteration. `run` is the shell text with arguments filled in. */
export const evidenceCommand = z.strictObject({
  ...commandDefinition.shape,
  /** The gate runs it again, and it must succeed. */
  acceptance: z.boolean(),
  directory: z.enum(['task', 'project']),
});

/** Blocked command: an RE2 pattern, the first words of a simple command, or the programs of a pipeline. */
const commandRule = z.union([
  z.string().min(1),
  z.strictObject({ command: z.string().min(1), args: z.array(z.string()), reason: z.string().nullable() }),
  z.strictObject({ pipeline: z.array(z.string().min(1)).min(2), reason: z.string().nullable() }),
]);

export const guardrails = z.strictObject({
  blockCommands: z.array(commandRule),
  /** RE2 patterns, one of which every simple command must match as a whole; null without an allowlist. */
  shellAllow: z.array(z.string()).nullable(),
  /** Globs, and policies as `policy:NAME`. */
  protectedFiles: z.array(z.string()),
  /** Globs and policies of files that must not even be read. */
  privateFiles: z.array(z.string()),
  strict: z.boolean(),
  /** Rules that are denied by default while a plan runs, but allowed here; present only for a plan. */
  lifted: z.array(z.string()).optional(),
});

/** Operating system sandbox for the agent and every command. Paths are absolute. */
export const sandbox = z.strictObject({
  allowWrite: z.array(z.string().min(1)),
  denyWrite: z.array(z.string().min(1)),
  denyRead: z.array(z.string().min(1)),
  /** All, none, or these domains, which only the agent can reach. */
  network: z.union([z.boolean(), z.array(z.string().min(1))]),
});

export const taskTerms = z.strictObject({
  args: z.record(z.string(), z.string()),
  commands: z.array(evidenceCommand),
  gate: z.enum(['required', 'optional', 'disabled']),
  /** Paths relative to the task folder. */
  requiredOutputs: z.array(z.string()),
  /** Says if a required gate needs an OPEN_QUESTIONS.md. Contracts without this field require one. */
  openQuestions: z.enum(['required', 'optional']).optional(),
  itemsPerIteration: z.int().min(1).nullable(),
  reflectEvery: z.int().min(2).nullable(),
});

/** Notifications about ends and pauses. The terminal's bell is not part of the contract. */
export const notify = z.strictObject({
  on: z.array(z.enum(NOTIFY_KINDS)),
  /** A program and its arguments, run without a shell. */
  command: z.array(z.string().min(1)).min(1).nullable(),
  url: z.string().min(1).nullable(),
  template: z.enum(['json', 'slack', 'discord', 'ntfy']),
});

/** Everything that may run and must hold, fixed at the start and stored outside the project. */
export const contract = z.strictObject({
  contractVersion: z.literal(CONTRACT_VERSION),
  loopId: z.string().min(1),
  name: z.string().nullable(),
  projectDir: z.string().min(1),
  taskPath: z.string().min(1),
  task: taskTerms.nullable(),
  guardrails,
  /** Form of the first line of each commit message of the engine; present only for a plan. */
  commitMessage: z.string().min(1).optional(),
  /** Lines at the end of each commit message of the engine; present only for a plan. */
  commitFooters: z.array(z.string().min(1)).optional(),
  /** Whether a required gate needs an OPEN_QUESTIONS.md. Contracts without this field require one. */
  sandbox: sandbox.optional(),
  /** Reason for running the agent without a sandbox, if the user has to know. */
  unsandboxed: z.enum(['not-set', 'unavailable']).optional(),
  createdAt: instant,
  /** Text of the frontmatter, byte for byte, so that a change is detected without a hash. */
  frontmatter: z.string(),
  /** Text of the task file before its body: a file that begins with it has the same frontmatter. */
  head: z.string(),
  /** Text of a plan after its head when a session starts, whose agent works before a task is opened; else absent. */
  body: z.string().optional(),
  policy,
  validation: z.array(commandDefinition),
  /** Checks that the project had at the start, for the agent of a plan without validation; absent for any other task. */
  projectChecks: z.array(z.string().min(1)).optional(),
  findingsLog: z.string().min(1),
  /** Globs of files that must be as they were at the start; absent if there are none. */
  unchanged: z.array(z.string().min(1)).optional(),
  /** Present if the contract cannot change until the loop has ended; absent if `accept` may change it. */
  accept: z.literal('never').optional(),
  /** Absent if neither a command nor an address is notified. */
  notify: notify.optional(),
  /**
   * SHA-256 of the files that the commands run or that configure them, by path relative to the project, PATH#PART of a
   * structured file or ~/PATH; `absent` for files that must remain absent.
   */
  scripts: z.record(z.string(), z.string()),
  /** Hashes of files that the end report merely names if they change. */
  watched: z.record(z.string(), z.string()).optional(),
  /** Files that program names referred to at the start; null if there was none. */
  programs: z
    .record(z.string(), z.strictObject({ path: z.string(), stat: z.string(), sha256: z.string() }).nullable())
    .optional(),
  /** Variables at the start that decide which programs run; without credentials. */
  environment: z.record(z.string(), z.string()).optional(),
  /** Globs of files that the commands run or that configure them, and that the task may change. */
  mayChange: z.array(z.string()).optional(),
  /** Commands that the agent may run with any arguments after them. */
  mayRun: z.array(z.string()).optional(),
  /** Reason for running the agent without a sandbox, if the user must know. */
  verifyIn: z.strictObject({ setup: z.string().nullable(), copy: z.array(z.string()) }).optional(),
  /**
   * Files outside the project on which the loop rests (src/state/evidence): the SHA-256 of those that never change, null for
   * those whose digest is in the manifest.
   */
  evidence: z.record(z.string(), z.string().nullable()),
  /** Absent if the checks did not run before the start: their earlier results are unknown. */
  baseline: baseline.optional(),
  /** The user does not want the checks to run before the start. */
  skipsBaseline: z.literal(true).optional(),
  /** True if the user has agreed to the loop. A loop requested by an agent waits for consent. */
  consented: z.boolean(),
  /** SHA-256 of the terms to which the user agrees; absent until they are assembled. */
  consentDigest: z.string().optional(),
  clientVersion: z.string().nullable(),
  /** Settings of the client; absent if a command replaces it. */
  client: z
    .strictObject({
      permissionMode: z.string().nullable(),
      model: z.string().nullable(),
      effort: z.string().nullable(),
      isolation: z.string().nullable(),
    })
    .optional(),
  /** Name of the loop's host; absent for Claude Code, and if a command replaces it. */
  host: z
    .string()
    .regex(/^[a-z][a-z0-9-]*$/)
    .optional(),
  /** Command that works on a runner's iterations instead of the client; absent: the client does. */
  agent: z.string().min(1).optional(),
  /** Scenario list of a loop that works test-first; absent for other loops. `hash` covers its scenarios and commands. */
  tdd: z.strictObject({ listId: z.string().min(1), hash: z.string().min(1) }).optional(),
  headless: z.boolean(),
  /** Settings from the command line, by key path, for `accept` to apply again. */
  flags: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  /** Bundle that started the loop: its files belong to the loop and are guarded. */
  bundleDir: z.string().nullable(),
});

export const storedContract = z.strictObject({
  /** SHA-256 of the contract with sorted keys; the loop's state refers to it. */
  hash: z.string(),
  contract,
});

export type Contract = z.infer<typeof contract>;
export type StoredContract = Readonly<z.infer<typeof storedContract>>;
export type EvidenceCommand = z.infer<typeof evidenceCommand>;
export type CommandRule = z.infer<typeof commandRule>;
export type Notify = z.infer<typeof notify>;
export type Sandbox = z.infer<typeof sandbox>;
export type Guardrails = z.infer<typeof guardrails>;
export type TaskTerms = z.infer<typeof taskTerms>;
export type CommandDefinition = z.infer<typeof commandDefinition>;
