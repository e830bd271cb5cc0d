import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * The command of the user's own status line as the client would choose it (local, project, user settings), or null.
 * Read once, at the launch, when the user stands behind it.
 */
export function userStatusLine(projectDir: string, env: NodeJS.ProcessEnv): string | null {
  const user = env['CLAUDE_CONFIG_DIR'] || join(env['HOME'] || homedir(), '.claude');
  const files = [
    join(projectDir, '.claude', 'settings.local.json'),
    join(projectDir, '.claude', 'settings.json'),
    join(user, 'settings.json'),
  ];
  for (const file of files) {
    const command = commandIn(file);
    if (command !== null) return command;
  }
  return null;
}

function commandIn(file: string): string | null {
  try {
    const { statusLine } = JSON.parse(readFileSync(file, 'utf8')) as { statusLine?: { command?: unknown } };
    const command = statusLine?.command;
    return typeof command === 'string' && command !== '' ? command : null;
  } catch {
    return null; // no such file, or one that the client cannot read either
  }
}
