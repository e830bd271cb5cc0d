import { type DriverContext, driverContext } from '../../../src/drive/control/ownership.ts';
import { sessionStart } from '../../../src/drive/hook/session-start.ts';
import { stop } from '../../../src/drive/hook/stop/stop.ts';
import { stopFailure } from '../../../src/drive/hook/stop-failure.ts';
import { postToolUse, preToolUse } from '../../../src/drive/hook/tool-use.ts';
import { userPromptSubmit } from '../../../src/drive/hook/user-prompt-submit.ts';
import { parseHookInput } from '../../../src/hosts/hook-io/hook-input.ts';
import { RalphError } from '../../../src/text/message.ts';
import type { HookName } from './case.ts';

export type Decide = (context: DriverContext) => Promise<object | null> | object | null;

/** Nobody waits in these tests: where a hook would sleep, the client tells it to go after so long. */
const TEST_TIMEOUT_MS = 3;

/** What the files in hooks/ hand to runHook, each beside its events. */
export const HOOKS: Readonly<Record<HookName, Decide>> = {
  Stop: stopSoon,
  UserPromptSubmit: userPromptSubmit,
  SessionStart: sessionStart,
  StopFailure: stopFailure,
  PreToolUse: preToolUse,
  PostToolUse: postToolUse,
  PostToolUseFailure: postToolUse,
};

async function stopSoon(context: DriverContext): Promise<object | null> {
  const told = new AbortController();
  const timer = setTimeout(() => told.abort(), TEST_TIMEOUT_MS);
  try {
    return await stop(context, { timeoutMs: 600_000, signal: () => told.signal });
  } finally {
    clearTimeout(timer);
  }
}

export interface Asked {
  readonly answer: unknown;
  /** What runHook has to turn into an allowed stop. */
  readonly error: unknown;
  /** The session that the payload names; null where the hook was not even asked. */
  readonly session: string | null;
}

/** One hook as runHook runs it, with everything but the process around it. */
export async function ask(
  hook: HookName,
  input: Buffer,
  env: Readonly<Record<string, string>>,
  decide: Decide = HOOKS[hook],
): Promise<Asked> {
  const parsed = parseHookInput(input.toString('utf8'));
  if (parsed === null || parsed.event !== hook) return { answer: null, error: null, session: null };
  try {
    return { answer: await decide(driverContext(parsed, env)), error: null, session: parsed.sessionId };
  } catch (error) {
    return { answer: null, error, session: parsed.sessionId };
  }
}

/** What may leave a hook's decision: an error of ours, with what to do, or what the system says about a file. */
export function isExpected(error: unknown): boolean {
  return error === null || error instanceof RalphError || typeof (error as NodeJS.ErrnoException).syscall === 'string';
}
