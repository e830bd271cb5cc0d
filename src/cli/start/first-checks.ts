import type { BaselineOptions } from '../../drive/start/baseline.ts';
import type { StartBaseline } from '../../drive/start/stages.ts';
import { START_TEXTS } from '../../drive/turn/messages.ts';
import { isGreen } from '../../engine/policy/proof.ts';
import { baselineText } from '../../engine/proof-texts.ts';
import type { Policy } from '../../engine/schema/contract.ts';
import { withPrefix } from '../../state/process/program.ts';
import { onSignals } from '../../state/process/signals.ts';
import { printable } from '../../term/format.ts';
import { isTerminal } from '../../term/write-text.ts';
import { redact } from '../../text/redact/redact.ts';
import type { CommandContext } from '../command.ts';

/** Time after which a user at a terminal is shown what the command waits for. */
const LONG_MS = 2_000;

/** Exit code of a command whose checks were ended by Ctrl+C. */
export const LEFT = 130;

/** Runs the checks before a start and prints the results. Returns null, leaving nothing, if a signal ended them. */
export async function runFirstChecks(
  context: Pick<CommandContext, 'env' | 'err'>,
  work: (options: BaselineOptions) => Promise<StartBaseline | null>,
  policy?: Policy,
): Promise<{ readonly baseline: StartBaseline | null } | null> {
  const done = await watchChecks(context, async (options) => ({ baseline: await work(options) }));
  // After the ^C that the terminal has shown.
  if (done === null) context.err((isTerminal(2) ? '\n' : '') + withPrefix(START_TEXTS.baselineLeft));
  else if (done.baseline !== null) {
    const { baseline } = done.baseline;
    context.err(withPrefix(START_TEXTS.checksBefore(printable(redact(baselineText(baseline))))));
    // A task of a plan needs evidence of its own.
    if (policy?.plan === undefined && isGreen(baseline)) context.err(withPrefix(START_TEXTS.allPass));
  }
  return done;
}

/** Runs work with checks; if it takes long, names the current one at a terminal. Returns null if a signal ended it. */
export async function watchChecks<T>(
  { env, err }: Pick<CommandContext, 'env' | 'err'>,
  work: (options: BaselineOptions) => Promise<T>,
): Promise<T | null> {
  const left = new AbortController();
  const leave = (): void => left.abort();
  const quiet = onSignals({ press: leave, leave });
  let current = '';
  const late = setTimeout(() => {
    if (current !== '' && isTerminal(2)) err(withPrefix(START_TEXTS.checksRun(printable(redact(current)))));
  }, LONG_MS);
  try {
    const onCheck = (name: string): void => {
      current = name;
    };
    return await work({ env, signal: left.signal, onCheck });
  } catch (error) {
    if (left.signal.aborted) return null;
    throw error;
  } finally {
    clearTimeout(late);
    quiet();
  }
}
