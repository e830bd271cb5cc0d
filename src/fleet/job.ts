import { createHmac, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { sha256 } from '../state/hash-contract.ts';
import { LOOP_NAME } from '../state/loop-files.ts';
import { canonicalJson } from '../text/json.ts';
import { RalphError } from '../text/message.ts';
import { FLEET_TEXTS } from './messages.ts';

/** Maximum size of a submission as JSON, in bytes. */
const MOST_BYTES = 256 * 1024;

/** Pattern for the id of a loop of the fleet: the task's name and ten random characters; its branch is `ralph/ID`. */
export const FLEET_ID = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,52}-[0-9a-z]{10}$/;
export const WORD = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/;

export const DEFAULT_ACCOUNT = 'default';

const hexadecimal = (length: number) => z.string().regex(new RegExp(`^[0-9a-f]{${length}}$`));
const commit = z.string().regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/);
const word = z.string().regex(WORD);

/** Submission of a loop: written once, signed, never changed. */
const submission = z.strictObject({
  v: z.literal(1),
  loopId: z.string().regex(FLEET_ID),
  /** Number from 1; a loop that is resumed or retried after an end gets the next one. */
  generation: z.int().min(1).max(10_000),
  name: z.string().regex(LOOP_NAME),
  repository: z.strictObject({ id: hexadecimal(16), url: z.string().min(1).max(2048) }),
  base: z.strictObject({ ref: z.string().min(1).max(255), sha: commit }),
  branch: z.string().regex(/^ralph\/[a-zA-Z0-9][a-zA-Z0-9._-]*$/),
  checkpointRef: z.string().regex(/^refs\/ralph\/[a-zA-Z0-9][a-zA-Z0-9._-]*$/),
  /** Path relative to the project, and the SHA-256 of the file at `base.sha`. */
  task: z.strictObject({ path: z.string().min(1).max(1024), digest: hexadecimal(64) }),
  contract: z.strictObject({
    /** SHA-256 of `terms`. */
    digest: hexadecimal(64),
    /** Terms to which the submitter agreed, as keys and values that are identical on every machine. */
    terms: z.array(z.tuple([z.string(), z.string()])),
    /** Command-line settings, by key path, and arguments of the task. */
    flags: z.record(z.string(), z.string()),
    args: z.record(z.string(), z.string()),
  }),
  limits: z.strictObject({ iterationTimeoutMs: z.int().min(0), maxTakeOvers: z.int().min(0).max(100) }),
  needs: z.strictObject({ labels: z.array(word).max(20) }),
  /** Loops that must be complete before this one starts. */
  after: z.array(z.string().regex(FLEET_ID)).max(50),
  account: word,
  publish: z.enum(['none', 'branch', 'pull-request']),
  submittedBy: z.string().max(200),
  submittedAt: z.string().max(40),
});

/** Data of a loop in the queue. */
const envelope = z.strictObject({ submission, signature: hexadecimal(64) });

export type Submission = z.infer<typeof submission>;
export type Envelope = z.infer<typeof envelope>;

export function jobIdOf({ loopId, generation }: Pick<Submission, 'loopId' | 'generation'>): string {
  return `${loopId}.${generation}`;
}

/** Returns the submission in a job's data; null if it is invalid or too large. */
export function envelopeOf(data: unknown): Envelope | null {
  const text = JSON.stringify(data) ?? '';
  if (Buffer.byteLength(text) > MOST_BYTES) return null;
  const parsed = envelope.safeParse(data);
  return parsed.success && isConsistent(parsed.data.submission) ? parsed.data : null;
}

/** Throws RalphError `usage` for a submission that no worker would accept. */
export function checkSubmission(value: Submission): void {
  const size = Buffer.byteLength(JSON.stringify(value));
  if (size > MOST_BYTES - 1024) throw new RalphError('usage', FLEET_TEXTS.tooLarge(size));
  submission.parse(value);
}

/** Returns whether the references belong to the loop, which may move only its own. */
function isConsistent({ loopId, branch, checkpointRef, repository }: Submission): boolean {
  const isOwn = branch === `ralph/${loopId}` && checkpointRef === `refs/ralph/${loopId}`;
  return isOwn && repository.id === repositoryId(repository.url);
}

/** Returns the id of a repository: the first 16 hexadecimal digits of the SHA-256 of its address. */
export function repositoryId(url: string): string {
  const normal = url.replace(/\/+$/, '').replace(/\.git$/, '');
  return sha256(normal).slice(0, 16);
}

/** Minimum length of a key: 128 bits in hexadecimal. */
const LEAST = 32;

/** Key of the fleet: signs with HMAC-SHA256. It is never stored, printed or passed on. */
export class FleetKey {
  readonly #key: string;

  /** Throws RalphError `usage` for a missing or short key. */
  constructor(key: string | undefined) {
    if (key === undefined || key.length < LEAST) throw new RalphError('usage', FLEET_TEXTS.badKey(LEAST));
    this.#key = key;
  }

  /** Returns 16 hexadecimal digits by which members can compare their keys. */
  get fingerprint(): string {
    return this.#sign('key', 'ralph-loop fleet').slice(0, 16);
  }

  seal(submission: Submission): Envelope {
    return { submission, signature: this.#sign('submission', submission) };
  }

  hasSealed({ submission, signature }: Envelope): boolean {
    return isSame(this.#sign('submission', submission), signature);
  }

  signCommand(command: SignedPart): string {
    const { id, kind, text, loop, generation } = command;
    return this.#sign('command', { id, kind, text, loop, generation });
  }

  hasSignedCommand(command: SignedPart, signature: string): boolean {
    return isSame(this.signCommand(command), signature);
  }

  /** Signs a value; because of `kind`, a signature of one kind cannot be used for another. */
  #sign(kind: string, value: unknown): string {
    return createHmac('sha256', this.#key)
      .update(`ralph-fleet-1\n${kind}\n${canonicalJson(value)}`)
      .digest('hex');
  }
}

/** Part of a command that its signature covers. */
interface SignedPart {
  readonly id: string;
  readonly kind: string;
  readonly text: string;
  readonly loop: string;
  readonly generation: number;
}

function isSame(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)];
  return one.length === other.length && timingSafeEqual(one, other);
}
