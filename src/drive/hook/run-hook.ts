import { hookHost } from '../../hosts/hook-hosts.ts';
import type { HookHost } from '../../hosts/hook-io/hook-host.ts';
import { parseHookInput } from '../../hosts/hook-io/hook-input.ts';
import { type HookAnswer, readStdin } from '../../hosts/hook-io/stdio.ts';
import { writeAll } from '../../state/files/regular-file.ts';
import { log, loopFiles, REPEATED } from '../../state/loop-files.ts';
import { hideFleetVariables } from '../../state/process/fleet-variables.ts';
import { instantOf } from '../../text/time.ts';
import { type DriverContext, driverContext } from '../control/ownership.ts';

const STDIN_LIMIT = 64 * 1024 * 1024;

/**
 * Runs one hook for the host that its command names; an unknown host gets no answer. `failed` handles any failure and may end
 * the process with another exit code.
 */
export async function runHook(
  events: readonly string[],
  decide: (context: DriverContext) => Promise<HookAnswer | null> | HookAnswer | null,
  failed: (message: string, logPath: string) => HookAnswer | null,
): Promise<void> {
  hideFleetVariables(process.env);
  const host = hookHost(process.argv);
  if (host === null) process.exit();
  try {
    const input = parseHookInput(readStdin(STDIN_LIMIT) ?? '', host.read);
    if (input === 'ignored') process.exit();
    if (input === null || !events.includes(input.event))
      throw new Error(`standard input was no ${events[0] ?? ''} event`);
    const context = driverContext(input, process.env, host);
    const answer = await decide(context);
    if (answer !== null) {
      keepForLauncher(context, answer);
      write(host, input.event, answer);
    }
  } catch (error) {
    const { message, stack } = error as Error;
    const answer = failed(message, logged(events[0] ?? 'hook', stack ?? message));
    if (answer !== null) write(host, events[0] ?? '', answer);
  }
  // All output is written; exiting at once saves a millisecond of shutdown.
  process.exit();
}

function write(host: HookHost, event: string, answer: HookAnswer): void {
  const { stdout, stderr, code } = host.output(event, answer);
  if (stdout !== '') writeAll(1, stdout);
  if (stderr !== '') writeAll(2, stderr);
  process.exitCode = code;
}

/** Logs why a hook failed. Returns the path of the log, or why there is none, such as a missing home folder. */
function logged(event: string, text: string): string {
  try {
    const files = loopFiles(process.env['CLAUDE_PROJECT_DIR'] || process.cwd(), null, process.env);
    log(files, instantOf(Date.now()), event, text);
    return files.log;
  } catch (error) {
    return `there is no log: ${(error as Error).message.replace(/\.$/, '')}`;
  }
}

/** Logs the message for the launcher to repeat: a client before 2.1.250 does not print it under `-p`. */
function keepForLauncher(
  { env, files, now, input }: DriverContext,
  { systemMessage }: { systemMessage?: string },
): void {
  if (env['RALPH_REPEAT'] !== '1' || input.event !== 'Stop' || systemMessage === undefined) return;
  log(files, now(), `${REPEATED} ${env['RALPH_LOOP_ID']}`, systemMessage);
}
