import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { StartedLoop } from '../../drive/start/start-loop.ts';
import { START_TEXTS, said } from '../../drive/turn/messages.ts';
import { hasRules } from '../../guard/guard-rules.ts';
import { type AdvisedLoop, forLoop } from '../../term/for-loop.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { CommandContext } from '../command.ts';
import { verifiesNothing } from './start-request.ts';

/** Prints the warnings about a loop that was started, on standard error. */
export function printWarnings({ err }: CommandContext, { warnings, stored }: StartedLoop): void {
  for (const { message, line } of warnings) err(said(`${line === null ? '' : `line ${line}: `}${message}`));
  if (verifiesNothing(stored.contract)) err(said(START_TEXTS.nothingToVerify));
}

/** Returns whether `init` has installed the hooks in this project; without them no session takes part in a loop. */
export function areHooksInstalled(projectDir: string): boolean {
  return existsSync(join(projectDir, '.claude', 'hooks', 'ralph-stop-hook.cjs'));
}

/** Prints on standard error what a client that the user starts by hand will not do for this loop. */
export function printManualStartWarnings({ err, projectDir }: CommandContext, { stored, state }: StartedLoop): void {
  if (state.mode !== 'hook') return;
  const { guardrails } = stored.contract;
  if (!areHooksInstalled(projectDir)) err(said(START_TEXTS.noHooks));
  // A plan has rules of its own, and `lifted` says that this is one.
  if (hasRules(guardrails) || guardrails.lifted !== undefined) err(said(START_TEXTS.unguardedByHand));
}

/** Does something about a loop; what it throws for the user advises commands that mean this loop. */
export function advising<T>(loop: AdvisedLoop, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RalphError) || !isAboutALoop(error)) throw error;
    throw new RalphError(error.code, forLoop(error.message, loop), error);
  }
}

/** Returns whether the error is about a loop, and not about its task. */
function isAboutALoop({ code, message }: RalphError): boolean {
  return code === 'refused' || code === 'no-loop' || /main\.cjs start --(?:resume|fresh)\b/.test(message);
}
