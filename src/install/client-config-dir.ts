import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where the client keeps the user's own settings and plugins. */
export function clientConfigDir(env: NodeJS.ProcessEnv): string {
  return env['CLAUDE_CONFIG_DIR'] || join(env['HOME'] || homedir(), '.claude');
}
