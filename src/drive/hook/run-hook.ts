import { parseHookInput } from '../../claude/hook-io/hook-input.ts';
import { readStdin, writeStdout } from '../../claude/hook-io/stdio.ts';
import { log } from '../../state/log.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { instantOf } from '../../text/instant.ts';
import { type DriverContext, driverContext } from '../turn/ownership.ts';

const STDIN_LIMIT = 64 * 1024 * 1024;

/** Runs one hook. `failed` answers any failure, and may end the process with another exit code. */
export async function runHook(
  events: readonly string[],
  decide: (context: DriverContext) => Promise<object | null> | object | null,
  failed: (message: string, logPath: string) => object | null,
): Promise<void> {
  try {
    const input = parseHookInput(readStdin(STDIN_LIMIT) ?? '');
    if (input === null || !events.includes(input.event)) {
      throw new Error(`standard input was no ${events[0] ?? ''} event`);
    }
    const answer = await decide(driverContext(input, process.env));
    if (answer !== null) writeStdout(answer);
  } catch (error) {
    const { message, stack } = error as Error;
    const files = loopFiles(process.env['CLAUDE_PROJECT_DIR'] || process.cwd(), null, process.env);
    log(files, instantOf(Date.now()), events[0] ?? 'hook', stack ?? message);
    const answer = failed(message, files.log);
    if (answer !== null) writeStdout(answer);
  }
  // All output is written; exiting at once saves a millisecond of shutdown.
  process.exit();
}
