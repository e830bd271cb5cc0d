import * as z from 'zod';
import { RalphError } from '../../text/ralph-error.ts';
import { git } from './git.ts';
import { GIT_TEXTS } from './messages.ts';
import { checkCommit } from './place.ts';
import { ownGit, type Workspace } from './workspace-paths.ts';

/** Name of the file in a checkpoint's `state/`. */
export const META_FILE = 'fleet.json';

const count = z.int().min(0);

/** What a checkpoint says of its loop. */
export const checkpointMeta = z.object({
  v: z.literal(1),
  loopId: z.string().min(1).max(200),
  generation: count,
  attempt: count,
  iteration: count,
  takeOvers: count,
  /** Whether its worker ended the claim by itself; false while it works on. */
  signedOff: z.boolean(),
  /** Id of the last command that was applied. */
  lastCommand: z.string().max(200).nullable(),
  contractDigest: z.string().max(200),
  spent: z.object({ costUsd: z.number().min(0).nullable(), tokens: z.number().min(0) }),
  /** How the loop ended in this generation, and why; null while it goes on. */
  outcome: z.string().max(100).nullable().default(null),
  reason: z.string().max(20_000).default(''),
  /** What was submitted, signed, so that a loop can be queued again from its repository alone. */
  submission: z.unknown().optional(),
  at: z.iso.datetime(),
  leftOut: z
    .array(z.object({ path: z.string(), why: z.enum(['size', 'repository', 'unreadable', 'special']) }))
    .default([]),
});

export type CheckpointMeta = z.infer<typeof checkpointMeta>;
/** The same without what `makeCheckpoint` finds out itself. */
export type NewCheckpointMeta = Omit<CheckpointMeta, 'leftOut' | 'outcome' | 'reason'> &
  Partial<Pick<CheckpointMeta, 'outcome' | 'reason'>>;

/** Reads what a checkpoint says, from the mirror or a workspace. Throws RalphError `state-corrupt` if it is none. */
export async function readCheckpoint(
  place: string | Workspace,
  sha: string,
  env: NodeJS.ProcessEnv = typeof place === 'string' ? process.env : place.env,
): Promise<CheckpointMeta> {
  const gitDir = typeof place === 'string' ? place : ownGit(place);
  const invalid = (problem: string, cause?: unknown): RalphError =>
    new RalphError('state-corrupt', GIT_TEXTS.badCheckpoint(sha, problem), cause);
  const found = await git(['cat-file', 'blob', `${checkCommit(sha)}:state/${META_FILE}`], { env, gitDir });
  if (!found.ok) throw invalid(found.complaint);
  let value: unknown;
  try {
    value = JSON.parse(found.output.toString('utf8'));
  } catch (error) {
    throw invalid('its description is no JSON', error);
  }
  const parsed = checkpointMeta.safeParse(value);
  if (!parsed.success) throw invalid(z.prettifyError(parsed.error), parsed.error);
  return parsed.data;
}
