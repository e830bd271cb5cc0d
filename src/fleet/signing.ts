import { createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from '../text/canonical-json.ts';
import { RalphError } from '../text/ralph-error.ts';
import type { Envelope, Submission } from './job.ts';
import { FLEET_TEXTS } from './messages.ts';

/** Shortest key, in characters: 128 bits in hexadecimal. */
const LEAST = 32;

/** The fleet's key: signs with HMAC-SHA256. It is never stored, printed or passed on. */
export class FleetKey {
  readonly #key: string;

  /** Throws RalphError `usage` for a missing or short key. */
  constructor(key: string | undefined) {
    if (key === undefined || key.length < LEAST) throw new RalphError('usage', FLEET_TEXTS.badKey(LEAST));
    this.#key = key;
  }

  /** Returns 16 hexadecimal digits by which members find out that they have the same key. */
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
    return this.#sign('command', partOf(command));
  }

  hasSignedCommand(command: SignedPart, signature: string): boolean {
    return isSame(this.signCommand(command), signature);
  }

  /** `kind` keeps a signature of one kind from serving as one of another. */
  #sign(kind: string, value: unknown): string {
    return createHmac('sha256', this.#key)
      .update(`ralph-fleet-1\n${kind}\n${canonicalJson(value)}`)
      .digest('hex');
  }
}

/** What the signature of a command covers. */
export interface SignedPart {
  readonly id: string;
  readonly kind: string;
  readonly text: string;
  readonly loop: string;
  readonly generation: number;
}

function partOf({ id, kind, text, loop, generation }: SignedPart): SignedPart {
  return { id, kind, text, loop, generation };
}

function isSame(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)];
  return one.length === other.length && timingSafeEqual(one, other);
}
