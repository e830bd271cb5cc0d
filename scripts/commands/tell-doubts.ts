import type { StartedLoop } from '../../src/drive/start-loop.ts';
import { START_TEXTS, said } from '../../src/drive/texts.ts';
import type { CommandContext } from './command.ts';
import { verifiesNothing } from './start-flags.ts';

/** Tells on standard error what speaks against a loop that was started all the same. */
export function tellDoubts({ err }: CommandContext, { warnings, stored }: StartedLoop): void {
  for (const { message, line } of warnings) err(said(`${line === null ? '' : `line ${line}: `}${message}`));
  if (verifiesNothing(stored.contract)) err(said(START_TEXTS.nothingToVerify));
}
