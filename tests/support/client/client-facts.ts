import { test } from 'node:test';
import { OLDEST_CLIENT } from '../../../src/hosts/claude/claude-code.ts';
import { IS_LONG } from '../short-form.ts';
import { clientVersion } from './client-binary.ts';

/** The oldest supported client is under test: `npm run test:floor`. */
const IS_OLDEST = clientVersion() === OLDEST_CLIENT;

/**
 * What the client under test does that the oldest supported one does not, and the other way round. Measured on both;
 * docs/differences.md says what the user notices. No test asks for a version itself.
 */
export const CLIENT = {
  /** Number of times that the reason of a block reaches the model. */
  reasonsPerBlock: IS_OLDEST ? 1 : 2,
  /** Notes in the transcript of `-p` that it overrode a block, and how many Stop hooks it ran. */
  recordsStops: !IS_OLDEST,
  /** Prints the messages of Stop hooks in the stream of `-p`. */
  printsStopMessages: !IS_OLDEST,
  /** Names the instant at which a usage limit resets, waits for it and continues by itself. */
  continuesAfterLimit: !IS_OLDEST,
  /** Refuses by itself to write over a file that the agent has not read, before any hook is asked. */
  refusesUnread: IS_OLDEST,
  /** Says in the stream of `-p` that it denied a call; otherwise the call is shown as failed. */
  printsDenials: !IS_OLDEST,
  /** Knows the field `types` of a plugin's manifest, and validates a plugin for a profile. */
  validatesProfiles: !IS_OLDEST,
  /** Has the tool Monitor, whose input is a shell command. */
  offersMonitor: !IS_OLDEST,
  /** Has a sandbox that confines an agent; with an older client a loop in the sandbox is refused. */
  confines: !IS_OLDEST,
  /** Loads the code that a plugin brings for its screen. */
  loadsMods: !IS_OLDEST,
  /** Requests before it reports an overloaded API that says not to ask again, with CLAUDE_CODE_MAX_RETRIES=1. */
  triesOfOverloaded: IS_OLDEST ? 2 : 1,
  /** Waits for background shells after the turn of `-p` for as long as it is told. */
  waitsForShells: !IS_OLDEST,
  /** Price of its default model over that of the pinned client's. */
  priceFactor: IS_OLDEST ? 1.25 : 1,
  /** What the terminal shows beside a message that was typed while the agent works. */
  queued: IS_OLDEST ? /Press up to edit queued messages/ : /Queued/,
} as const;

/** A test of what a sandbox allows; with a client that has none, the tests of the refusal stand in for it. */
export const confinedTest = (name: string, body: () => Promise<void>): void => {
  if (CLIENT.confines) test(name, body);
};

/** The same, in the long form only. */
export const longConfinedTest: typeof confinedTest = IS_LONG ? confinedTest : () => {};
