import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { RalphError } from '../core/ralph-error.ts';
import { clientConfigDir } from './client-config-dir.ts';

/**
 * Throws `refused` where the project's .claude is the client's own directory (the home directory): its settings.json
 * counts in every project, and our hooks are files of one.
 */
export function refuseClientDir(projectDir: string, env: NodeJS.ProcessEnv): void {
  const claude = real(join(projectDir, '.claude'));
  if (claude === null || claude !== real(clientConfigDir(env))) return;
  throw new RalphError(
    'refused',
    `${claude} holds your own settings of Claude Code, for all projects. Change into the directory of one project, or name it: main.cjs init --project DIR.`,
  );
}

function real(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null; // not there: then it cannot be the same
  }
}
