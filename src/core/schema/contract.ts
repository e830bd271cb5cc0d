import * as z from 'zod';
import { instant } from './instant.ts';
import { policy } from './policy.ts';

export const CONTRACT_VERSION = 1;

/** A command that the loop may run, as it stood in the frontmatter when the user started the loop. */
export const commandDefinition = z.strictObject({
  name: z.string().min(1),
  run: z.string().min(1),
  timeoutSeconds: z.int().min(1).max(3600),
});

/** What may run and what must hold, fixed at the start and kept outside the project. */
export const contract = z.strictObject({
  contractVersion: z.literal(CONTRACT_VERSION),
  loopId: z.string().min(1),
  name: z.string().nullable(),
  projectDir: z.string().min(1),
  /** Relative to the project directory. */
  taskPath: z.string().min(1),
  createdAt: instant,
  /** The frontmatter's text, byte for byte, so that a change during the run is seen without a hash. */
  frontmatter: z.string(),
  /** Everything of the task file before its body: a file that begins so has that frontmatter, unparsed. */
  head: z.string(),
  policy,
  validation: z.array(commandDefinition),
  findingsLog: z.string().min(1),
  /** SHA-256 of the project's own files that the commands name, by path relative to the project. */
  scripts: z.record(z.string(), z.string()),
  clientVersion: z.string().nullable(),
  headless: z.boolean(),
  /** Settings that the command line gave, by key path: `accept` applies them again. */
  flags: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  /** The bundle that started the loop: its files are the loop's own and guarded. */
  bundleDir: z.string().nullable(),
});

export type Contract = z.infer<typeof contract>;
export type CommandDefinition = z.infer<typeof commandDefinition>;
