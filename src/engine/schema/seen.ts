import * as z from 'zod';

/** What a loop has seen in files that its agent writes, and has to see closed. Stored outside the project. */
export const seen = z.strictObject({
  loopId: z.string().min(1),
  /** First lines of all items that the checklist has had. */
  items: z.array(z.string()),
});

export type Seen = z.infer<typeof seen>;
