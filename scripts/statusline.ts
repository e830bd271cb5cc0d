import { printStatusLine } from '../src/drive/status/status-line.ts';
import { readStdin } from '../src/hosts/hook-io/stdio.ts';
import { LOOP_NAME, loopFiles } from '../src/state/loop-files.ts';
import { writeText } from '../src/term/write-text.ts';
import { jsonOrNull } from '../src/text/json.ts';

/** A separate program: the client runs it every two seconds; loading the command line would take half of its time. */
const STDIN_LIMIT = 4 * 1024 * 1024;
const { env } = process;
const name = env['RALPH_LOOP'] !== undefined && LOOP_NAME.test(env['RALPH_LOOP']) ? env['RALPH_LOOP'] : null;
const input = readStdin(STDIN_LIMIT) ?? '';

void printStatusLine(input, loopFiles(projectDir(), name, env), env, new Date().toISOString(), (line) =>
  writeText(1, line),
);

/** Returns the session's project as the client names it; the directory may have changed since. */
function projectDir(): string {
  // Empty if it is run by hand.
  const { workspace } = (jsonOrNull(input) ?? {}) as { readonly workspace?: { readonly project_dir?: unknown } };
  if (typeof workspace?.project_dir === 'string') return workspace.project_dir;
  return env['CLAUDE_PROJECT_DIR'] || process.cwd();
}
