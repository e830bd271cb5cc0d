import * as z from 'zod';

/** What a loop has seen in files that its agent writes. Stored outside the project. */
export const seen = z.strictObject({
  loopId: z.string().min(1),
  /** First lines of all items that the checklist has had. */
  items: z.array(z.string()),
  /** Ids and titles of findings that were seen open and not yet fixed. */
  findings: z.array(z.string()),
  /** First lines of questions under P0 and P1 that were seen open and not yet answered. */
  questions: z.array(z.string()),
  /** Marks of the required outputs that were there before the start, by path. */
  outputs: z.record(z.string(), z.string()),
  /** Marks of files that the agent had not changed, as checks and commands of the loop left them, by path. */
  written: z.record(z.string(), z.string()).optional(),
});

export type Seen = z.infer<typeof seen>;
