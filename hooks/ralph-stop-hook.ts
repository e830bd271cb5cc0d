import { parseHookInput } from '../src/claude/hook-input.ts';
import { readStdin } from '../src/claude/read-stdin.ts';
import { writeStdout } from '../src/claude/write-stdout.ts';
import { hookContext } from '../src/drive/hook/context.ts';
import { stop } from '../src/drive/hook/stop.ts';
import type { StopWork } from '../src/drive/hook/stop-work.ts';
import { HOOK_TEXTS, said } from '../src/drive/texts.ts';
import { log } from '../src/state/log.ts';
import { loopFiles } from '../src/state/loop-files.ts';

// The build puts the guard on RALPH_ACTIVE before everything here, so that another session pays for nothing.
declare const require: (path: string) => unknown;

const STDIN_LIMIT = 64 * 1024 * 1024;
/** What the client grants a hook that is registered without a timeout. */
const CLIENT_DEFAULT_SECONDS = 600;

void main();

/** Reads a Stop, decides, answers. Whatever goes wrong lets the stop happen and is said in one line. */
async function main(): Promise<void> {
  const controller = new AbortController();
  process.on('SIGTERM', () => controller.abort());
  const files = loopFiles(process.env['CLAUDE_PROJECT_DIR'] || process.cwd(), null, process.env);
  const at = new Date().toISOString();
  try {
    const input = parseHookInput(readStdin(STDIN_LIMIT) ?? '');
    if (input === null || input.event !== 'Stop') {
      log(files, at, 'stop', 'standard input was no Stop event; the stop is allowed');
      return;
    }
    const answer = await stop(hookContext(input, process.env), {
      timeoutMs: timeoutSeconds() * 1000,
      signal: controller.signal,
      loadWork: () => require('./ralph-stop-work.cjs') as StopWork,
    });
    if (answer !== null) writeStdout(answer);
  } catch (error) {
    const { message, stack } = error as Error;
    log(files, at, 'stop', stack ?? message);
    if (!controller.signal.aborted) writeStdout({ systemMessage: said(HOOK_TEXTS.failed(message, files.log)) });
  }
}

/** The registered timeout, passed as `--timeout SECONDS`. */
function timeoutSeconds(): number {
  const at = process.argv.indexOf('--timeout');
  const seconds = at === -1 ? Number.NaN : Number(process.argv[at + 1]);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : CLIENT_DEFAULT_SECONDS;
}
