import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { StartedLoop } from '../../drive/start/start-loop.ts';
import { START_TEXTS, withPrefix } from '../../drive/turn/messages.ts';
import { hasRules } from '../../guard/guard-rules.ts';
import { show } from '../../state/process/program.ts';
import type { CommandContext } from '../command.ts';
import { verifiesNothing } from './start-request.ts';

/** Prints the warnings about a loop that was started, on standard error. */
export function printWarnings({ err }: CommandContext, { warnings, stored }: StartedLoop): void {
  for (const { message, line } of warnings) err(withPrefix(`${line === null ? '' : `line ${line}: `}${message}`));
  if (verifiesNothing(stored.contract)) err(withPrefix(START_TEXTS.nothingToVerify));
}

/** Returns whether `init` has installed the hooks in this project; without them no session takes part in a loop. */
export function areHooksInstalled(projectDir: string): boolean {
  return existsSync(join(projectDir, '.claude', 'hooks', 'ralph-stop-hook.cjs'));
}

/** Prints on standard error what a client that the user starts by hand will not do for this loop. */
export function printManualStartWarnings({ err, projectDir }: CommandContext, { stored, state }: StartedLoop): void {
  if (state.mode !== 'hook') return;
  const { guardrails } = stored.contract;
  if (!areHooksInstalled(projectDir)) err(withPrefix(show(START_TEXTS.noHooks)));
  // A plan has rules of its own, and `lifted` says that this is one.
  if (hasRules(guardrails) || guardrails.lifted !== undefined) err(withPrefix(START_TEXTS.unguardedByHand));
}
