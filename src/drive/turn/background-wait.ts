import { backgroundText } from '../../engine/messages.ts';
import { backgroundLimit } from '../../engine/policy/background.ts';
import type { Policy } from '../../engine/schema/contract.ts';
import { projectFingerprint } from '../../task/progress/fingerprint.ts';
import { redact } from '../../text/redact/redact.ts';
import { durationIn } from './wait.ts';

/** How long a claim waits for shells that do not change the project. */
const CLAIM_WAIT_MS = 60_000;

interface WaitedWork {
  readonly projectDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly policy: Policy;
  readonly message: string;
  /** Commands of the running shells; null for other work. */
  readonly commands: readonly (string | null)[];
  /** Called when each wait begins, with the text for the user and the length of the wait. */
  readonly tell: (text: string, waitMs: number) => void;
}

/**
 * Begins the wait for the background work of an ended turn. Returns a function that returns the milliseconds to wait, at its first
 * call and after each wait; null once the wait is over.
 */
export function backgroundWait({ projectDir, env, policy, message, commands, tell }: WaitedWork): () => number | null {
  const onlyShells = commands.every((command) => command !== null);
  const claimMs = durationIn(env, 'RALPH_CLAIM_WAIT', CLAIM_WAIT_MS);
  const { waitMs, mostMs } = backgroundLimit(policy, message, onlyShells, claimMs);
  // Masked before the text cuts them: half a secret has no recognisable form.
  const shown = commands.map((command) => command && redact(command));
  let leftMs = mostMs;
  let before: string | null = null;
  return () => {
    // A wait that is never prolonged does not need a fingerprint of the project.
    const now = waitMs < mostMs ? projectFingerprint(projectDir) : '';
    if (before !== null && (leftMs <= 0 || now === before)) return null;
    const nextMs = Math.min(waitMs, leftMs);
    if (nextMs > 0) tell(backgroundText(shown, nextMs, waitMs < mostMs), nextMs);
    before = now;
    leftMs -= nextMs;
    return nextMs;
  };
}
