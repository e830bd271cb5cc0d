import * as z from 'zod';
import { NOTIFY_KINDS } from './constants.ts';
import { count, instant } from './scalars.ts';

const threshold = count;

/** How a loop decides, resolved once at the start and fixed in the contract. All durations in milliseconds. */
export const policy = z.strictObject({
  /** What the agent writes to claim completion. `none`: the loop runs to its limits. */
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
  /** Consecutive repeats that trip the breaker; 0 switches the signal off. */
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
    /** Used shares of the account's limits at which the loop pauses until they reset; absent: none. */
    stopAt: z
      .strictObject({ five_hour: z.number().min(0).max(1).nullable(), seven_day: z.number().min(0).max(1).nullable() })
      .optional(),
    warnAt: z.number().min(0).max(1),
  }),
  /** The task is a plan, worked on task by task; absent for every other. */
  plan: z
    .strictObject({
      /** Tasks done in one session, after which the loop pauses for review. */
      maxTasks: z.int().min(1).max(100),
      from: z.string().min(1).nullable(),
      /** Id of the one task of this loop, which runs beside loops on other tasks; absent: one task after the other. */
      only: z.string().min(1).optional(),
    })
    .optional(),
  backgroundWaitMs: z.number().min(0),
  pace: z.strictObject({
    /** Between two working iterations, beside what idle waits. */
    delayMs: z.number().min(0),
    /** What one iteration may take; null where only the loop's own limits count. */
    iterationTimeoutMs: z.number().positive().nullable(),
    stopOnError: z.boolean(),
    /** Whether the loop's end tells max-iterations and no-progress-exhaustion apart. */
    tracksProgress: z.boolean(),
  }),
});

export type Policy = z.infer<typeof policy>;
export type IdlePolicy = NonNullable<Policy['idle']>;

export const CONTRACT_VERSION = 1;

/** A command that the loop may run, as it stood in the frontmatter when the user started the loop. */
export const commandDefinition = z.strictObject({
  name: z.string().min(1),
  run: z.string().min(1),
  timeoutSeconds: z.int().min(1).max(3600),
});

/** A command whose output is the evidence of an iteration. `run` is what the shell gets, arguments filled in. */
export const evidenceCommand = z.strictObject({
  ...commandDefinition.shape,
  /** The gate runs it again, and it must come out well. */
  acceptance: z.boolean(),
  directory: z.enum(['task', 'project']),
});

/** What no command may be: an RE2 pattern, the named first words of a simple command, or the programs of a pipeline. */
export const commandRule = z.union([
  z.string().min(1),
  z.strictObject({ command: z.string().min(1), args: z.array(z.string()), reason: z.string().nullable() }),
  z.strictObject({ pipeline: z.array(z.string().min(1)).min(2), reason: z.string().nullable() }),
]);

export const guardrails = z.strictObject({
  blockCommands: z.array(commandRule),
  /** Every simple command must match one of these RE2 patterns whole; null where there is no allowlist. */
  shellAllow: z.array(z.string()).nullable(),
  /** Globs, and names of policies as `policy:NAME`. */
  protectedFiles: z.array(z.string()),
  /** The same for what may not even be read. */
  privateFiles: z.array(z.string()),
  strict: z.boolean(),
  /** Names of what is denied while a plan runs and is allowed here all the same; there for a plan alone. */
  lifted: z.array(z.string()).optional(),
});

/** The operating system's sandbox of the agent and of every command. Paths are absolute. */
export const sandbox = z.strictObject({
  allowWrite: z.array(z.string().min(1)),
  denyWrite: z.array(z.string().min(1)),
  denyRead: z.array(z.string().min(1)),
  /** All, none, or these domains, which the agent alone can reach. */
  network: z.union([z.boolean(), z.array(z.string().min(1))]),
});

export const taskTerms = z.strictObject({
  args: z.record(z.string(), z.string()),
  commands: z.array(evidenceCommand),
  gate: z.enum(['required', 'optional', 'disabled']),
  /** Relative to the task folder. */
  requiredOutputs: z.array(z.string()),
  /** Whether a required gate needs an OPEN_QUESTIONS.md. Contracts without the field need one. */
  openQuestions: z.enum(['required', 'optional']).optional(),
  itemsPerIteration: z.int().min(1).nullable(),
  reflectEvery: z.int().min(2).nullable(),
});

/** How the user hears of ends and pauses. The bell of the terminal is no part of the contract. */
export const notify = z.strictObject({
  on: z.array(z.enum(NOTIFY_KINDS)),
  /** A program and its arguments, run without a shell. */
  command: z.array(z.string().min(1)).min(1).nullable(),
  url: z.string().min(1).nullable(),
  template: z.enum(['json', 'slack', 'discord', 'ntfy']),
});

/** What may run and what must hold, fixed at the start and kept outside the project. */
export const contract = z.strictObject({
  contractVersion: z.literal(CONTRACT_VERSION),
  loopId: z.string().min(1),
  name: z.string().nullable(),
  projectDir: z.string().min(1),
  taskPath: z.string().min(1),
  task: taskTerms.nullable(),
  guardrails,
  /** Lines that end the message of each commit that the engine makes; there for a plan alone. */
  commitFooters: z.array(z.string().min(1)).optional(),
  /** Absent where agent and commands run without one. */
  sandbox: sandbox.optional(),
  /** Why the agent runs without a sandbox, where its user has to know it. */
  unsandboxed: z.enum(['not-set', 'unavailable']).optional(),
  createdAt: instant,
  /** The frontmatter's text, byte for byte, so that a change during the run is seen without a hash. */
  frontmatter: z.string(),
  /** Everything of the task file before its body: a file that begins so has that frontmatter, unparsed. */
  head: z.string(),
  policy,
  validation: z.array(commandDefinition),
  findingsLog: z.string().min(1),
  /** Globs of files that have to be as they were at the start; absent where none are named. */
  unchanged: z.array(z.string().min(1)).optional(),
  /** The contract cannot change until the loop has ended; absent where `accept` may change it. */
  accept: z.literal('never').optional(),
  /** Absent where no command and no address are notified. */
  notify: notify.optional(),
  /**
   * SHA-256 of the files that the commands run or are steered by, by path relative to the project, PATH#PART of a
   * structured file or ~/PATH; `absent` for what must stay absent.
   */
  scripts: z.record(z.string(), z.string()),
  /** The same of files that are only named in the end report if they change. */
  watched: z.record(z.string(), z.string()).optional(),
  /** Files that the names of programs stood for at the start; null where none was found. */
  programs: z
    .record(z.string(), z.strictObject({ path: z.string(), stat: z.string(), sha256: z.string() }).nullable())
    .optional(),
  /** Variables of the start that decide which programs run; without credentials. */
  environment: z.record(z.string(), z.string()).optional(),
  /** Globs of files that the commands run or are steered by and that the task may change. */
  mayChange: z.array(z.string()).optional(),
  /** Checks run on a clean copy of the project; absent where they run in the project. */
  verifyIn: z.strictObject({ setup: z.string().nullable(), copy: z.array(z.string()) }).optional(),
  /** Whether the user has agreed to the loop. One that an agent asked for has to wait until they do. */
  consented: z.boolean(),
  /** SHA-256 of what the user agreed to, or is asked to agree to; absent in a contract of an older version. */
  consentDigest: z.string().optional(),
  clientVersion: z.string().nullable(),
  /** Settings of the client; absent where a command works in its place, and in a contract of an older version. */
  client: z
    .strictObject({
      permissionMode: z.string().nullable(),
      model: z.string().nullable(),
      effort: z.string().nullable(),
      isolation: z.string().nullable(),
    })
    .optional(),
  /** The command that works on a runner's iterations in place of the client; absent where the client does. */
  agent: z.string().min(1).optional(),
  /** The list of a loop that works test-first; absent for every other loop. `hash` proves its scenarios and commands. */
  tdd: z.strictObject({ listId: z.string().min(1), hash: z.string().min(1) }).optional(),
  headless: z.boolean(),
  /** Settings that the command line gave, by key path: `accept` applies them again. */
  flags: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  /** The bundle that started the loop: its files are the loop's own and guarded. */
  bundleDir: z.string().nullable(),
});

export const storedContract = z.strictObject({
  /** SHA-256 over the contract with sorted keys: the loop's state names it. */
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
