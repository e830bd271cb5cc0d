import * as z from 'zod';
import { TDD_VERSION } from './constants.ts';
import { count, instant } from './scalars.ts';

export const tddPhase = z.enum(['red', 'green', 'refactored']);
const tddStanding = z.enum(['pending', 'red', 'green', 'refactored']);

const id = z.string().min(1);

const completedScenario = z.object({
  id,
  evidenceCommand: z.string(),
  redEvidence: z.string(),
  greenEvidence: z.string(),
  passedAt: instant,
});

const logEntry = z.object({
  scenarioId: id,
  phase: tddPhase,
  /** Standard output and standard error of the command; if it is longer than 12,000 characters, its head and tail. */
  output: z.string(),
  timestamp: instant,
  bytes: count.optional(),
  exitCode: count.optional(),
});

/** Content of `tdd-state.json` in the project: a projection of the record outside. Keeps further keys. */
export const tddState = z.object({
  /** Absent in a file written by another program. */
  schemaVersion: z.literal(TDD_VERSION).optional(),
  scenarios: z.array(z.object({ id, description: z.string(), status: tddStanding })),
  completedScenarios: z.array(completedScenario),
  currentScenario: z.string().nullable(),
  evidenceLog: z.array(logEntry),
});

/** Scenario and the command that proves it, fixed when the list was created. */
const tddScenario = z.strictObject({
  id,
  description: z.string().min(1),
  run: z.string().min(1),
  timeoutSeconds: z.int().min(1).max(3600),
});

/** Part of a test file that must stay when tests are added. Empty lines and imports do not count. */
const testHead = z.strictObject({
  imports: z.array(z.string()),
  /** Number and SHA-256 of the first lines, and the closing brackets after them. */
  lines: count,
  head: z.string(),
  tail: z.array(z.string()),
});

/** List of a TDD loop with all proofs, stored outside the project: commands that may run, and their outputs. */
export const tddRecord = z.strictObject({
  recordVersion: z.literal(TDD_VERSION),
  listId: z.string().min(1),
  createdAt: instant,
  loopId: z.string().nullable(),
  /** True if the user has agreed to the commands; until then none of them runs. */
  consented: z.boolean(),
  scenarios: z.array(tddScenario),
  /** SHA-256 of the project's own files that the commands name, by path relative to the project. */
  scripts: z.record(z.string(), z.string()),
  /** Scripts that the last red run added to the list. The green run must use the same ones. */
  redScripts: z.record(z.string(), z.string()).optional(),
  /** SHA-256 of the test files, by path relative to the project, before the current scenario. */
  tests: z.record(z.string(), z.string()).optional(),
  /** SHA-256 of the test files of the last red run, by path. A green run with other test files proves nothing. */
  redTests: z.record(z.string(), z.string()).optional(),
  /** The same for each proved scenario, by its id. With other test files it is no longer proved. */
  provedTests: z.record(z.string(), z.record(z.string(), z.string())).optional(),
  /** Parts of these files that must stay, by scenario id and path. */
  provedHeads: z.record(z.string(), z.record(z.string(), testHead)).optional(),
  /** Environment of the user who agreed (PATH and the like), which decides what the commands mean. */
  environment: z.record(z.string(), z.string()),
  current: z.string().nullable(),
  /** Completed scenarios in the order of their proofs. An entry is final. */
  completed: z.array(completedScenario),
  /** Append-only log. */
  log: z.array(logEntry),
  /** Output of a failed run after refactoring: nothing else may run until it passes again. */
  broken: z.strictObject({ scenarioId: id, output: z.string() }).nullable(),
});

export type TddState = z.infer<typeof tddState>;
export type TddRecord = z.infer<typeof tddRecord>;
export type TestHead = z.infer<typeof testHead>;
export type TddScenario = z.infer<typeof tddScenario>;
export type TddLogEntry = z.infer<typeof logEntry>;
export type TddPhase = z.infer<typeof tddPhase>;
export type TddStanding = z.infer<typeof tddStanding>;
