import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { hasRules } from '../../src/drive/has-rules.ts';
import type { StartedLoop } from '../../src/drive/start-loop.ts';
import { START_TEXTS, said } from '../../src/drive/texts.ts';
import type { CommandContext } from './command.ts';

/** Whether `init` has put the hooks into this project, without which no session takes part in a loop. */
export function hooksAreInstalled(projectDir: string): boolean {
  return existsSync(join(projectDir, '.claude', 'hooks', 'ralph-stop-hook.cjs'));
}

/** Tells on standard error what a client that the user starts by hand will not do for this loop. */
export function tellByHand({ err, projectDir }: CommandContext, { stored, state }: StartedLoop): void {
  if (state.mode !== 'hook') return;
  const { guardrails } = stored.contract;
  if (!hooksAreInstalled(projectDir)) err(said(START_TEXTS.noHooks));
  // A plan has rules of its own, and `lifted` says that this is one.
  if (hasRules(guardrails) || guardrails.lifted !== undefined) err(said(START_TEXTS.unguardedByHand));
}
